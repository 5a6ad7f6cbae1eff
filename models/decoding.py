"""The decode loop: greedy search and sampling over one text, equal to transformers' `generate`.

Written out here, rather than called, so that a token can be shown as soon as it is chosen, a visitor can stop
between two tokens, and each step's probabilities are at hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import (
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    GenerationConfig,
    LogitNormalization,
    LogitsProcessorList,
    NoBadWordsLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from models.decoder_state import DecoderState
from models.nucleus import Nucleus

ALTERNATIVES = 10
_CLOSE = 0.03
"""A difference of logits that rounding in bfloat16 may turn around; about one token in a hundred is chosen by less."""


@dataclass(frozen=True)
class Drawn:
    """The shares that a token was drawn by, after temperature and cut-offs: its own, and its alternatives' in order.

    `left` is the number of tokens that could still be drawn.
    """

    probability: float
    alternatives: tuple[float, ...]
    left: int


@dataclass(frozen=True)
class Step:
    """One token that was chosen: its id, the model's own probability of it, and its likeliest alternatives.

    `alternatives` are ids with their probabilities, likeliest first; `drawn` is there for a token that was sampled.
    """

    id: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]
    drawn: Drawn | None = None


@dataclass(frozen=True, eq=False)
class Chooser:
    """How each next token is chosen: the likeliest after `processors`, or one drawn with `generator`.

    With a `nucleus` there are no processors: it says by which shares to draw.
    """

    processors: LogitsProcessorList
    generator: torch.Generator | None = None
    nucleus: Nucleus | None = None

    def step(self, ids: Tensor, logits: Tensor, given: int | None = None) -> Step:
        """The token that follows `ids` `[1, token]` by `logits` `[1, vocabulary]`; `given` decides without a choice."""
        if self.generator is None:
            scores = processed(self.processors, ids, logits)
            return step_of(logits[0], int(scores.argmax()) if given is None else given)
        if self.nucleus is None:
            shares = processed(self.processors, ids, logits).softmax(dim=-1)[0]
        else:
            shares = self.nucleus.shares(logits[0])
        if given is None:
            given = int(torch.multinomial(shares.cpu(), 1, generator=self.generator))
        return step_of(logits[0], given, shares)


def greedy(config: GenerationConfig, max_length: int) -> Chooser:
    """Always the likeliest token."""
    return Chooser(processors_of(config, max_length))


def sampling(
    config: GenerationConfig,
    max_length: int,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
) -> Chooser:
    """A token drawn after temperature, top-k and nucleus cut-offs (Holtzman et al., 2020); same seed, same draw.

    `top_k=0` and `top_p=1` cut nothing off.
    """
    processors, generator = processors_of(config, max_length), torch.Generator().manual_seed(seed)
    if top_k and not processors:
        return Chooser(processors, generator, Nucleus(float(temperature), top_k, top_p))
    processors.append(TemperatureLogitsWarper(float(temperature)))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        processors.append(TopPLogitsWarper(top_p))
    return Chooser(processors, generator)


@torch.inference_mode()
def write(
    state: DecoderState, chooser: Chooser, max_new_tokens: int, eos_ids: Sequence[int], rounded: bool = False
) -> Iterator[Step]:
    """Write up to `max_new_tokens` tokens, one at a time; an end token is yielded and ends the text.

    Where numbers are `rounded` and the two likeliest tokens too close, the choice between them is made exactly.
    """
    for _ in range(max_new_tokens):
        logits = state.next_logits()
        if rounded and chooser.generator is None and too_close(logits):
            logits = state.exact_logits()
        step = chooser.step(state.ids, logits)
        yield step
        if step.id in eos_ids:
            return
        state.append(torch.tensor([step.id], device=logits.device))


def too_close(logits: Tensor) -> bool:
    """Whether rounding might change which of `logits` `[1, vocabulary]` is the greatest."""
    first, second = logits[0].topk(2).values.tolist()
    return bool(first - second < _CLOSE)


@torch.inference_mode()
def reread(chooser: Chooser, ids: Tensor, logits: Tensor, prompt_length: int) -> Iterator[Step]:
    """The tokens of `ids` `[1, token]` behind the prompt as if written now; `logits` are `[token, vocabulary]`."""
    for position in range(prompt_length, ids.shape[1]):
        yield chooser.step(ids[:, :position], logits[position - 1 : position], given=int(ids[0, position]))


def step_of(logits: Tensor, chosen: int, shares: Tensor | None = None) -> Step:
    """What `chosen` was worth by `logits` `[vocabulary]`, and by the `shares` `[vocabulary]` it was drawn by."""
    best = logits.topk(min(ALTERNATIVES, len(logits)))
    total = logits.logsumexp(dim=-1)
    drawn = None
    if shares is not None:
        own, *others = shares[torch.cat([best.indices.new_tensor([chosen]), best.indices])].tolist()
        drawn = Drawn(own, tuple(others), int(shares.count_nonzero()))
    probability, *probabilities = (torch.cat([logits[chosen, None], best.values]) - total).exp().tolist()
    return Step(chosen, probability, tuple(zip(best.indices.tolist(), probabilities, strict=True)), drawn)


def processors_of(config: GenerationConfig, max_length: int) -> LogitsProcessorList:
    """The logits processors that a checkpoint's own generation settings ask for, in `generate`'s order."""
    processors = LogitsProcessorList()
    if config.no_repeat_ngram_size:
        processors.append(NoRepeatNGramLogitsProcessor(config.no_repeat_ngram_size))
    if config.bad_words_ids:
        processors.append(NoBadWordsLogitsProcessor(config.bad_words_ids, config.eos_token_id))
    if config.forced_bos_token_id is not None:
        processors.append(ForcedBOSTokenLogitsProcessor(config.forced_bos_token_id))
    if config.forced_eos_token_id is not None:
        processors.append(ForcedEOSTokenLogitsProcessor(max_length, config.forced_eos_token_id))
    if config.renormalize_logits:
        processors.append(LogitNormalization())
    return processors


def processed(processors: LogitsProcessorList, ids: Tensor, scores: Tensor) -> Tensor:
    """`scores` `[row, vocabulary]` after all of them; the list itself would look up their arguments at every step."""
    for processor in processors:
        scores = processor(ids, scores)
    return scores


def end_ids(config: GenerationConfig) -> tuple[int, ...]:
    """The ids that end a text, none for a checkpoint that has no end token."""
    ids = config.eos_token_id
    if ids is None:
        return ()
    return tuple(int(each) for each in ids) if isinstance(ids, list | tuple) else (int(ids),)
