"""Windows of the completion model: sources as runs of pieces, the parts of its training, and how texts begin."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

from training import stories
from training.expectations import DRAWS
from training.loop import Batch
from training.teacher import Answers, Foreseen

PIECES = 8192
"""Of a batch."""
WINDOW, LONG_WINDOW = 256, 512
SEED = 21
CERTAIN = 0.3
"""The share of the piece that does follow, where a teacher says what might; the rest is the teacher's."""


@dataclass(frozen=True)
class Part:
    """A part of the training: so many `steps` from warm rates, `rates` of the optimizers' own, down to zero.

    `first` and `last` are the sources' shares of the rows at its first and at its last step. The share `opened` of the
    windows begin with the start token and a paragraph, as every visitor's text does, and what is written behind nothing
    at all is learnt there; they are of the sources as `opened_of` says, or as all rows are. Of four batches, `long` are
    of long windows, and from the share `all_long_from` of the steps on all are. `decay` is the weight decay of the
    matrices inside the blocks, `embeddings_decay` that of the words' vectors.
    """

    name: str
    first: tuple[float, ...]
    last: tuple[float, ...]
    steps: int
    warmup_steps: int
    rates: float
    held: float = 0.0
    opened: float = 0.35
    opened_of: tuple[float, ...] = ()
    long: int = 0
    all_long_from: float = 1.0
    decay: float = 0.05
    embeddings_decay: float = 0.0

    def shares_at(self, step: int) -> list[float]:
        """The shares at `step`, on the way from the first to the last."""
        progress = min(1.0, step / self.steps)
        return [first + (last - first) * progress for first, last in zip(self.first, self.last, strict=True)]

    def window_at(self, step: int) -> int:
        """How long the windows of the batch at `step` are."""
        return LONG_WINDOW if step % 4 >= 4 - self.long or step > self.all_long_from * self.steps else WINDOW


@dataclass(frozen=True)
class Source:
    """One source as a single run of pieces [n], and the places where its paragraphs begin [p].

    What a teacher expects at its places, if one has read it, is learnt as well.
    """

    pieces: Tensor
    openings: Tensor
    foreseen: Foreseen | None = None

    def answers(self, start: int, window: int) -> Answers:
        """What is to stand at the `window` places from `start` on, [window, 1 + DRAWS]."""
        pieces = torch.zeros(window, 1 + DRAWS, dtype=torch.long)
        shares = torch.zeros(window, 1 + DRAWS)
        pieces[:, 0], shares[:, 0] = self.pieces[start : start + window], 1
        if self.foreseen is not None:
            row = self.foreseen.row[start : start + window]
            pieces[row >= 0, 1:] = self.foreseen.drawn[row[row >= 0]].long()
            shares[row >= 0] = torch.tensor([CERTAIN, *[(1 - CERTAIN) / DRAWS] * DRAWS])
        return Answers(pieces, shares)


def join(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> Source:
    """The documents one after another, each opened by the end-of-text token, which so ends the one before."""
    end = tokenizer.eos_token_id
    run: list[int] = []
    for pieces in tokenizer(documents, verbose=False)["input_ids"]:
        run += [end, *pieces]
    joined = torch.tensor([*run, end])
    return Source(joined, openings_of(tokenizer, joined))


def openings_of(tokenizer: PreTrainedTokenizerFast, run: Tensor) -> Tensor:
    """The places [p] in a run of pieces [n] where a document or a paragraph begins."""
    breaks = [tokenizer.eos_token_id, *tokenizer(stories.BETWEEN_PARAGRAPHS)["input_ids"][-1:]]
    return behind(breaks, run)


def beginnings_of(tokenizer: PreTrainedTokenizerFast, run: Tensor) -> Tensor:
    """The places [p] in a run of pieces [n] where a document begins."""
    return behind([tokenizer.eos_token_id], run)


def behind(breaks: list[int], run: Tensor) -> Tensor:
    """The places [p] in a run of pieces [n] behind one of `breaks`, or several."""
    broken = torch.isin(run, torch.tensor(breaks))
    return (broken[:-1] & ~broken[1:]).nonzero().flatten() + 1


def windows_of(sources: list[Source], step: int, part: Part) -> Iterator[Batch]:
    """Endless batches, the first of them that of `step`: pieces [PIECES / window, window + 1] and what follows each.

    Answers and their shares are [PIECES / window, window, k], where k is one if no teacher has read any of the sources.
    """
    end = sources[0].pieces[:1]
    answers_each = 1 + DRAWS if any(source.foreseen for source in sources) else 1
    while True:
        window, shares = part.window_at(step), part.shares_at(step)
        chance = random.Random(f"{SEED} {step} {window} {shares}")
        rows, answers = [], []
        # A part may know fewer sources than there are by then.
        known = sources[: len(shares)]
        for source in chance.choices(known, shares, k=PIECES // window):
            opened = chance.random() < part.opened
            if opened and part.opened_of:
                source = chance.choices(known, part.opened_of)[0]
            last = len(source.pieces) - window - 1
            if opened:
                start = min(int(chance.choice(source.openings)), last)
                rows.append(torch.cat([end, source.pieces[start : start + window]]))
            else:
                start = chance.randrange(last) + 1
                rows.append(source.pieces[start - 1 : start + window])
            answers.append(source.answers(start, window))
        yield {
            "pieces": torch.stack(rows),
            "answers": torch.stack([each.pieces for each in answers])[..., :answers_each].contiguous(),
            "shares": torch.stack([each.shares for each in answers])[..., :answers_each].contiguous(),
        }
        step += 1


STEPS, RATE, PLACES = 60, 0.02, 48
LATER = 10.0
"""The weight of the mean loss behind the first place, for texts are to go on as well as they did."""


def learn_to_begin(model: GPT2LMHeadModel, sources: list[Source], shares: tuple[float, ...]) -> None:
    """Let `model` begin as `sources` do, each so often as its share of `shares` says; by Adam, its rate decaying."""
    part = Part("begin", shares, shares, steps=STEPS, warmup_steps=0, rates=1.0, opened=1.0)
    places = model.transformer.wpe.weight
    before = places[0].detach().clone()
    first = before.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([first], lr=RATE)
    model.eval()
    for step, batch in zip(range(STEPS), windows_of(sources, 0, part), strict=False):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        pieces = batch["pieces"][:, : PLACES + 1].to(places.device)
        words = model.transformer.wte(pieces[:, :-1]).detach().clone()
        # The model adds the old vector itself.
        words[:, 0] += first - before
        logits = model(inputs_embeds=words, use_cache=False).logits
        losses = functional.cross_entropy(logits.transpose(1, 2).float(), pieces[:, 1:], reduction="none")
        loss = losses[:, 0].mean() + LATER * losses[:, 1:].mean()
        (gradient,) = torch.autograd.grad(loss, [first])
        first.grad = gradient
        optimizer.step()
    with torch.no_grad():
        places[0] = first
