"""The decode loop: greedy search and sampling over one text, equal to transformers' `generate`.

Written out here, rather than called, so that a token can be shown as soon as it is chosen, a visitor can stop
between two tokens, and each step's probabilities are at hand.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

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

from models.decoding.loops import barred
from models.decoding.nucleus import Nucleus
from models.decoding.scores import Scores, scores_of
from models.decoding.state import DecoderState
from models.decoding.whole_characters import WholeCharacters, without

ALTERNATIVES = 10


@dataclass(frozen=True)
class Drawn:
    """The shares that a token was drawn by, after temperature and cut-offs: its own, and its alternatives' in order.

    `left` is the number of tokens that could still be drawn; those that were `barred` would have gone on with a loop.
    """

    probability: float
    alternatives: tuple[float, ...]
    left: int
    barred: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """One token that was chosen: its id, the model's own probability of it, and its likeliest alternatives.

    `alternatives` are ids with their probabilities, likeliest first, without those that would break a character;
    `drawn` is there for a token that was sampled. `copied` is a token that had to continue a part of the source.
    """

    id: int
    probability: float
    alternatives: tuple[tuple[int, float], ...]
    drawn: Drawn | None = None
    copied: bool = False


@dataclass(frozen=True, eq=False)
class Chooser:
    """How each next token is chosen: the likeliest after `processors`, or one drawn with `generator`.

    With a `nucleus` there are no processors: it says by which shares to draw. Where there is a `guard`, runs of so many
    tokens are drawn no third time (see `models/decoding/loops.py`). `characters` bars what would break a character.
    """

    processors: LogitsProcessorList
    generator: torch.Generator | None = None
    nucleus: Nucleus | None = None
    guard: int = 0
    characters: WholeCharacters | None = None

    def step(self, written: Sequence[int], scores: Scores, given: int | None = None) -> Step:
        """The token that follows what is `written` by `scores`; `given` decides without a choice."""
        broken = self.characters.barred(written) if self.characters else frozenset()
        if self.generator is None:
            return step_of(scores, self._likeliest(written, scores, broken) if given is None else given, broken)
        loops = tuple(barred(written, self.guard)) if self.guard else ()
        if self.nucleus is not None:
            left = self.nucleus.cut(scores, broken.union(loops))
            given = self.nucleus.draw(left, len(scores.logits), self.generator) if given is None else given
            step = step_of(scores, given, broken)
            shown = tuple(left.get(other, 0.0) for other, _ in step.alternatives)
            return replace(step, drawn=Drawn(left.get(given, 0.0), shown, len(left), loops))
        shares = self._processed(written, scores, broken.union(loops)).softmax(dim=-1)
        if given is None:
            given = int(torch.multinomial(shares.cpu(), 1, generator=self.generator))
        step = step_of(scores, given, broken)
        own, *others = shares[[given, *(other for other, _ in step.alternatives)]].tolist()
        return replace(step, drawn=Drawn(own, tuple(others), int(shares.count_nonzero()), loops))

    def _likeliest(self, written: Sequence[int], scores: Scores, barred: Collection[int]) -> int:
        if not self.processors:
            for token_id in scores.ids:
                if token_id not in barred:
                    return token_id
        return int(self._processed(written, scores, barred).argmax())

    def _processed(self, written: Sequence[int], scores: Scores, barred: Collection[int]) -> Tensor:
        """The logits `[vocabulary]` after all processors, as if tokens that are `barred` were not there."""
        ids = torch.tensor([written], device=scores.logits.device)
        return processed(self.processors, ids, without(scores.logits, barred)[None])[0]


def greedy(config: GenerationConfig, max_length: int, characters: WholeCharacters | None = None) -> Chooser:
    """Always the likeliest token."""
    return Chooser(processors_of(config, max_length), characters=characters)


def sampling(
    config: GenerationConfig,
    max_length: int,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    loop_guard: int = 0,
    characters: WholeCharacters | None = None,
) -> Chooser:
    """A token drawn after temperature, top-k and nucleus cut-offs (Holtzman et al., 2020); same seed, same draw.

    `top_k=0` and `top_p=1` cut nothing off, and `loop_guard=0` bars nothing.
    """
    processors, generator = processors_of(config, max_length), torch.Generator().manual_seed(seed)
    if top_k and not processors:
        return Chooser(processors, generator, Nucleus(float(temperature), top_k, top_p), loop_guard, characters)
    processors.append(TemperatureLogitsWarper(float(temperature)))
    if top_k:
        processors.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        processors.append(TopPLogitsWarper(top_p))
    return Chooser(processors, generator, guard=loop_guard, characters=characters)


def write(
    state: DecoderState,
    chooser: Chooser,
    max_new_tokens: int,
    eos_ids: Sequence[int],
) -> Iterator[Step]:
    """Write up to `max_new_tokens` tokens; an end token is one of them and ends the text. Raises `Stopped`."""
    for _ in range(max_new_tokens):
        (scores,) = state.next_best().rows()
        step = chooser.step(state.rows[0], scores)
        yield step
        if step.id in eos_ids:
            return
        state.append([step.id])


@torch.inference_mode()
def reread(chooser: Chooser, ids: Tensor, logits: Tensor, prompt_length: int) -> Iterator[Step]:
    """The tokens of `ids` `[1, token]` behind the prompt as if written now; `logits` are `[token, vocabulary]`."""
    behind, written = range(prompt_length, ids.shape[1]), ids[0].tolist()
    for position, scores in zip(behind, scores_of(logits[prompt_length - 1 : -1]), strict=True):
        yield chooser.step(written[:position], scores, given=written[position])


def step_of(scores: Scores, chosen: int, barred: Collection[int] = ()) -> Step:
    """What `chosen` was worth, and the likeliest tokens that are not `barred`."""
    alternatives = tuple((token, math.exp(value)) for token, value in scores.best(ALTERNATIVES, barred))
    return Step(chosen, math.exp(scores.log_probability(chosen)), alternatives)


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


def banned_ids(config: GenerationConfig) -> frozenset[int] | None:
    """The single tokens that a checkpoint's settings never write; None where they ask for more than that."""
    more = (
        config.no_repeat_ngram_size,
        config.forced_bos_token_id is not None,
        config.forced_eos_token_id is not None,
        config.renormalize_logits,
    )
    words = config.bad_words_ids or []
    if any(more) or any(len(word) != 1 for word in words):
        return None
    # An end token that is forbidden may be written all the same, as in transformers.
    return frozenset({word[0] for word in words} - set(end_ids(config)))


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
