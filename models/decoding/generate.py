"""The decode loop: greedy search and sampling over one text, equal to transformers' `generate`.

Written out here, rather than called, so that a token can be shown as soon as it is chosen, a visitor can stop
between two tokens, and each step's probabilities are at hand.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.decoding.loops import barred
from models.decoding.sampling import Sampling
from models.decoding.scores import best, log_softmax, without
from models.decoding.settings import GenerationSettings
from models.decoding.state import DecoderState
from models.decoding.whole_characters import WholeCharacters
from models.engine import Ids, Logits

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
    """How each next token is chosen: the likeliest that the checkpoint's `settings` allow, or one drawn by `sampling`.

    A text has at most `max_length` ids. Where there is a `guard`, runs of that many tokens are drawn no third time (see
    `models/decoding/loops.py`). `characters` bars what would break a character.
    """

    settings: GenerationSettings
    max_length: int
    sampling: Sampling | None = None
    guard: int = 0
    characters: WholeCharacters | None = None

    def step(self, written: Sequence[int], logits: Logits, given: int | None = None) -> Step:
        """The token that follows what is `written` by its `logits` `[vocabulary]`; `given` decides without a choice."""
        broken = self.characters.barred(written) if self.characters else frozenset[int]()
        loops = tuple(barred(written, self.guard)) if self.guard else ()
        free = without(logits, broken.union(loops))
        scores = self.settings.processed([written], free[None], self.max_length)[0]
        if self.sampling is None:
            return step_of(logits, int(scores.argmax()) if given is None else given, broken)
        shares = self.sampling.shares(scores)
        drawn = self.sampling.draw(shares) if given is None else given
        step = step_of(logits, drawn, broken)
        own, *others = shares[[drawn, *(other for other, _ in step.alternatives)]].tolist()
        return replace(step, drawn=Drawn(own, tuple(others), int(np.count_nonzero(shares)), loops))


def write(state: DecoderState, chooser: Chooser, max_new_tokens: int) -> Iterator[Step]:
    """Write up to `max_new_tokens` tokens; an end token is one of them and ends the text. Raises `Stopped`."""
    for _ in range(max_new_tokens):
        (logits,) = state.next_logits()
        step = chooser.step(state.rows[0], logits)
        yield step
        if step.id in chooser.settings.end_ids:
            return
        state.append([step.id])


def reread(chooser: Chooser, ids: Ids, logits: Logits, prompt_length: int) -> Iterator[Step]:
    """The tokens of `ids` `[1, token]` after the prompt as if written now; `logits` are `[token, vocabulary]`."""
    written = ids[0].tolist()
    for position in range(prompt_length, len(written)):
        yield chooser.step(written[:position], logits[position - 1], given=written[position])


def step_of(logits: Logits, chosen: int, barred: Collection[int] = ()) -> Step:
    """What `chosen` was worth by the `logits` `[vocabulary]`, and the likeliest tokens that are not `barred`."""
    own = log_softmax(logits)
    return Step(chosen, float(np.exp(own[chosen])), alternatives_of(own, barred))


def alternatives_of(log_probabilities: Logits, barred: Collection[int]) -> tuple[tuple[int, float], ...]:
    """The likeliest tokens that are not `barred` and their probabilities, from logarithms `[vocabulary]`."""
    free = without(log_probabilities, barred)
    places = best(free, ALTERNATIVES)
    places = places[np.isfinite(free[places])]
    shares = np.exp(free[places]).tolist()
    return tuple(zip(places.tolist(), shares, strict=True))
