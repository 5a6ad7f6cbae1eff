"""Beam search over one text, a step at a time and equal to transformers' `generate`."""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from models.decoding.copying import Copying
from models.decoding.generate import DecoderState, Step, WholeCharacters, alternatives_of
from models.decoding.sampling import GenerationSettings, Scores, best, log_softmax, without

NO_SCORE = -1e9
_LEAST = 1e-45
"""The smallest number of float32, for probabilities that are too small for it and read as zero."""


@dataclass(frozen=True)
class Hypothesis:
    """A finished beam: its steps and their mean log-probability (length penalty 1)."""

    steps: tuple[Step, ...]
    score: float

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids that were written."""
        return tuple(step.id for step in self.steps)

    def behind(self, kept: tuple[Step, ...]) -> "Hypothesis":
        """The whole text behind tokens that were `kept`, scored by the mean log-probability of all of it."""
        if not kept:
            return self
        steps = kept + self.steps
        return Hypothesis(steps, sum(math.log(max(step.probability, _LEAST)) for step in steps) / len(steps))


def best_first(hypotheses: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    """They by their scores, which tokens that were kept may have put in another order."""
    return tuple(sorted(hypotheses, key=lambda each: -each.score))


@dataclass(frozen=True)
class Candidate:
    """A token that one beam could go on with.

    `beam` counts the beams of the step before, best first; `total` is the log-probability of the whole draft.
    `place` is its own among the beams that go on, -1 where it was dropped or `finished` a text.
    """

    beam: int
    step: Step
    total: float
    place: int = -1
    finished: bool = False


@dataclass(frozen=True)
class BeamStep:
    """One step of the search, best first; `drafts` are the beams that go on, `finished` the best texts so far."""

    candidates: tuple[Candidate, ...]
    drafts: tuple[tuple[Step, ...], ...]
    finished: tuple[Hypothesis, ...]


def beam_search(
    state: DecoderState,
    settings: GenerationSettings,
    num_beams: int,
    max_new_tokens: int,
    *,
    characters: WholeCharacters | None = None,
    copying: Copying | None = None,
) -> Iterator[BeamStep]:
    """Each step of a search for the `num_beams` best texts, which the last step has `finished`, best first.

    They are those of transformers' `generate` with `num_return_sequences=num_beams`. Raises `Stopped`.

    `state` holds the prompt in one row. Scores are sums of log-probabilities over the number of new tokens to the power
    of the length penalty (Wu et al., 2016, without their constant). `characters` and `copying` bar tokens that would
    break a character or a copy.
    """
    max_length = len(state.rows[0]) + max_new_tokens
    penalty, eos_ids = settings.length_penalty, settings.end_ids
    stop_early = settings.early_stopping is True
    candidates_kept = max(2, 1 + len(eos_ids)) * num_beams

    finished: list[Hypothesis] = []
    drafts: list[tuple[Step, ...]] = [()] * num_beams
    scores = [0.0] + [NO_SCORE] * (num_beams - 1)
    logits = np.repeat(state.next_logits(), num_beams, axis=0)
    state.reorder([0] * num_beams)
    for length in range(1, max_new_tokens + 1):
        own = log_softmax(logits)
        broken = [characters.barred(row) if characters else frozenset[int]() for row in state.rows]
        barred = broken
        if copying:
            barred = [before | copying.barred(row) for before, row in zip(broken, state.rows, strict=True)]
        free = np.stack([without(row, not_these) for row, not_these in zip(own, barred, strict=True)])
        free = settings.processed(state.rows, free, max_length)
        if copying:
            beams, ids, totals = _best_with_copies(free, scores, state.rows, copying, candidates_kept)
        else:
            beams, ids, totals = _best(free, scores, candidates_kept)
        weighed = _Weighed(beams, ids, totals, own, broken)
        totals = weighed.totals
        hit = [length == max_new_tokens or token in eos_ids for token in weighed.ids]
        # A candidate that ends counts only among the first `num_beams`; the rest stand by to fill their places.
        done: set[int] = set()
        if not (stop_early and len(finished) == num_beams):
            done = {rank for rank in range(num_beams) if hit[rank] and totals[rank] > NO_SCORE / 2}
            ended = [Hypothesis(weighed.draft(drafts, rank), totals[rank] / length**penalty) for rank in sorted(done)]
            finished = sorted(finished + ended, key=lambda each: -each.score)[:num_beams]
        # They are in order; those that end come last.
        going_on = sorted(range(candidates_kept), key=hit.__getitem__)[:num_beams]
        over = length == max_new_tokens or (stop_early and len(finished) == num_beams)
        if not over and len(finished) == num_beams:
            best_length = max_new_tokens if settings.early_stopping == "never" and penalty > 0 else length
            over = totals[going_on[0]] / best_length**penalty <= finished[-1].score
        if over:
            going_on = []
        drafts = [weighed.draft(drafts, rank) for rank in going_on]
        places = {rank: place for place, rank in enumerate(going_on) if not hit[rank]}
        yield BeamStep(weighed.candidates(places, done), tuple(drafts), tuple(finished))
        if over:
            return
        scores = [totals[rank] for rank in going_on]
        state.reorder([weighed.beams[rank] for rank in going_on])
        state.append([weighed.ids[rank] for rank in going_on])
        logits = state.next_logits()


class _Weighed:
    """The best candidates of all beams, best first: whose beam, which token, and what each whole draft is worth.

    `own` `[beam, vocabulary]` are the model's log-probabilities; what is `broken` is not shown.
    """

    def __init__(
        self, beams: list[int], ids: list[int], totals: list[float], own: Scores, broken: Sequence[Collection[int]]
    ) -> None:
        self.beams, self.ids, self.totals = beams, ids, totals
        self._own = np.exp(own[beams, ids]).tolist()
        self._alternatives = [alternatives_of(row, bad) for row, bad in zip(own, broken, strict=True)]

    def step(self, rank: int) -> Step:
        """That candidate's token, with what its beam might have gone on with instead."""
        return Step(self.ids[rank], self._own[rank], self._alternatives[self.beams[rank]])

    def draft(self, drafts: Sequence[tuple[Step, ...]], rank: int) -> tuple[Step, ...]:
        """The whole draft of a candidate, by the `drafts` of all beams."""
        return (*drafts[self.beams[rank]], self.step(rank))

    def candidates(self, places: Mapping[int, int], done: Container[int]) -> tuple[Candidate, ...]:
        """All possible candidates, with the `places` of those that go on; those that are `done` finished a text."""
        return tuple(
            Candidate(self.beams[rank], self.step(rank), total, places.get(rank, -1), rank in done)
            for rank, total in enumerate(self.totals)
            if total > NO_SCORE / 2
        )


def _best(free: Scores, scores: Sequence[float], count: int) -> tuple[list[int], list[int], list[float]]:
    """Beam, token and total of the `count` best, from log-probabilities `[beam, vocabulary]` and the beams' scores."""
    totals = (free + np.array(scores, np.float32)[:, None]).ravel()
    return _read(totals, best(totals, count), free.shape[1])


def _read(totals: Scores, places: NDArray[np.int64], size: int) -> tuple[list[int], list[int], list[float]]:
    beams, ids = np.divmod(places, size)
    return beams.tolist(), ids.tolist(), totals[places].tolist()


def _best_with_copies(
    free: Scores, scores: Sequence[float], written: list[list[int]], copying: Copying, count: int
) -> tuple[list[int], list[int], list[float]]:
    """The best candidates, taken in turns from every number of copies that are begun.

    Drafts with fewer copies always look likelier, so each number has beams of its own (dynamic beam allocation: Post
    and Vilar, 2018). Within a copy, what may follow shares all of the probability.
    """
    number, shared = np.zeros(free.shape, np.int64), free.copy()
    for beam, row in enumerate(written):
        number[beam], going_on = copying.progress(row)
        number[beam, list(going_on)] += 1
        if copying.is_within(row):
            shared[beam] = log_softmax(free[beam])
    totals = (shared + np.array(scores, np.float32)[:, None]).ravel()
    turns: list[tuple[int, int]] = []
    for each in sorted(set(number.ravel().tolist()), reverse=True):
        of_number = np.where(number.ravel() == each, totals, -np.inf)
        places = best(of_number, count).tolist()
        turns += [(turn, place) for turn, place in enumerate(places) if of_number[place] > NO_SCORE / 2]
    order = [place for _, place in sorted(turns, key=itemgetter(0))][:count]
    # Too few are left only where a beam has no way on; these do no harm, as they count for nothing.
    order += [place for place in best(totals, 2 * count).tolist() if place not in order][: count - len(order)]
    return _read(totals, np.array(order), free.shape[1])
