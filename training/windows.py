"""What the completion model reads: sources as runs of pieces, the parts of its training, and windows cut from them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from training import stories
from training.loop import Batch

PIECES = 8192
"""Of a batch."""
WINDOW, LONG_WINDOW = 256, 512
SEED = 21


@dataclass(frozen=True)
class Part:
    """A part of the training: so many `steps` from warm rates, `rates` of the optimizers' own, down to zero.

    `first` and `last` are the sources' shares of the rows at its first and at its last step; `opened` is the share of
    the windows that begin with the start token and a paragraph, as every visitor's text does. Of four batches, `long`
    are of long windows, and from the share `all_long_from` of the steps on all are. `decay` is the weight decay of the
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
    """One source as a single run of pieces [n], and the places where its paragraphs begin [p]."""

    pieces: Tensor
    openings: Tensor


def join(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> Source:
    """The documents one after another, each opened by the end-of-text token, which so ends the one before."""
    end = tokenizer.eos_token_id
    run: list[int] = []
    for pieces in tokenizer(documents, verbose=False)["input_ids"]:
        run += [end, *pieces]
    joined = torch.tensor([*run, end])
    breaks = [end, *tokenizer(stories.BETWEEN_PARAGRAPHS)["input_ids"][-1:]]
    broken = torch.isin(joined, torch.tensor(breaks))
    return Source(joined, (broken[:-1] & ~broken[1:]).nonzero().flatten() + 1)


def windows_of(sources: list[Source], step: int, part: Part) -> Iterator[Batch]:
    """Endless batches [PIECES / window, window + 1], the first of them that of `step`."""
    end = sources[0].pieces[:1]
    while True:
        window, shares = part.window_at(step), part.shares_at(step)
        chance = random.Random(f"{SEED} {step} {window} {shares}")
        rows = []
        for source in chance.choices(sources, shares, k=PIECES // window):
            last = len(source.pieces) - window - 1
            if chance.random() < part.opened:
                start = min(chance.choice(source.openings).item(), last)
                rows.append(torch.cat([end, source.pieces[start : start + window]]))
            else:
                start = chance.randrange(last)
                rows.append(source.pieces[start : start + window + 1])
        yield {"pieces": torch.stack(rows)}
        step += 1
