"""Beam search over one text, a step at a time and equal to transformers' `generate`."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from models.decoding.copying import Copying
from models.decoding.generate import DecoderState, Step, WholeCharacters, alternatives_of
from models.decoding.sampling import LEAST, GenerationSettings, Scores, best, log_softmax, without

NO_SCORE = -1e9


@dataclass(frozen=True)
class Hypothesis:
    """A finished beam: its steps and its score, which is their mean log-probability at length penalty 1."""

    steps: tuple[Step, ...]
    score: float

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids that were written."""
        return tuple(step.id for step in self.steps)

    def behind(self, kept: tuple[Step, ...]) -> "Hypothesis":
        """Return the whole text, the `kept` steps in front, scored by the mean log-probability of all of it."""
        if not kept:
            return self
        steps = kept + self.steps
        return Hypothesis(steps, sum(math.log(max(step.probability, LEAST)) for step in steps) / len(steps))


def best_first(hypotheses: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    """Sort hypotheses by score, which kept tokens in front of them may have put in another order."""
    return tuple(sorted(hypotheses, key=lambda each: -each.score))


@dataclass(frozen=True)
class Candidate:
    """A token that one beam could continue with.

    `beam` is the number of that beam at the step before, best first; `total` is the log-probability of the whole draft.
    `place` is its own number among the beams that continue, -1 if it was dropped or `finished` a text.
    """

    beam: int
    step: Step
    total: float
    place: int = -1
    finished: bool = False


@dataclass(frozen=True)
class BeamStep:
    """One step of the search, best first; `drafts` are the beams that continue, `finished` the best texts so far."""

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
    """Yield each step of a search for the `num_beams` best texts, which the last step has `finished`; raises `Stopped`.

    They are those of transformers' `generate` with `num_return_sequences=num_beams`: a score is the sum of
    log-probabilities divided by the number of new tokens to the power of the length penalty (Wu et al., 2016, without
    their constant). `state` holds the prompt in one row; `characters` and `copying` bar tokens that would break a
    character or a copy.
    """
    max_length = len(state.rows[0]) + max_new_tokens
    penalty, stop_early = settings.length_penalty, settings.early_stopping is True
    candidates_kept = max(2, 1 + len(settings.end_ids)) * num_beams

    finished: tuple[Hypothesis, ...] = ()
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
            totals, places = _best_with_copies(free, scores, state.rows, copying, candidates_kept)
        else:
            totals = (free + np.array(scores, np.float32)[:, None]).ravel()
            places = best(totals, candidates_kept)
        beams, ids = np.divmod(places, free.shape[1])
        probabilities = np.exp(own[beams, ids])
        alternatives = [alternatives_of(row, bad) for row, bad in zip(own, broken, strict=True)]
        weighed = [
            Candidate(beam, Step(token_id, probability, alternatives[beam]), total)
            for beam, token_id, probability, total in zip(
                *(each.tolist() for each in (beams, ids, probabilities, totals[places])), strict=True
            )
        ]
        drafted = [(*drafts[each.beam], each.step) for each in weighed]
        ends = [length == max_new_tokens or each.step.id in settings.end_ids for each in weighed]
        # Only the first `num_beams` candidates may finish a text; the others are there to replace those that do.
        done: set[int] = set()
        if not (stop_early and len(finished) == num_beams):
            done = {rank for rank in range(num_beams) if ends[rank] and weighed[rank].total > NO_SCORE / 2}
            ended = [Hypothesis(drafted[rank], weighed[rank].total / length**penalty) for rank in sorted(done)]
            finished = best_first([*finished, *ended])[:num_beams]
        # The sort is stable: candidates stay in order, those that end come last.
        going_on = sorted(range(candidates_kept), key=ends.__getitem__)[:num_beams]
        over = length == max_new_tokens or (stop_early and len(finished) == num_beams)
        if not over and len(finished) == num_beams:
            best_length = max_new_tokens if settings.early_stopping == "never" and penalty > 0 else length
            over = weighed[going_on[0]].total / best_length**penalty <= finished[-1].score
        if over:
            going_on = []
        place_of = {rank: place for place, rank in enumerate(going_on) if not ends[rank]}
        candidates = tuple(
            replace(each, place=place_of.get(rank, -1), finished=rank in done)
            for rank, each in enumerate(weighed)
            if each.total > NO_SCORE / 2
        )
        drafts = [drafted[rank] for rank in going_on]
        yield BeamStep(candidates, tuple(drafts), finished)
        if over:
            return
        chosen = [weighed[rank] for rank in going_on]
        scores = [each.total for each in chosen]
        state.reorder([each.beam for each in chosen])
        state.append([each.step.id for each in chosen])
        logits = state.next_logits()


def _best_with_copies(
    free: Scores, scores: Sequence[float], written: list[list[int]], copying: Copying, count: int
) -> tuple[Scores, NDArray[np.int64]]:
    """Return the totals of all candidates and the places of the best, taken in turns from each number of begun copies.

    Drafts with fewer copies always look likelier, so each number has beams of its own (dynamic beam allocation: Post
    and Vilar, 2018). Within a copy, the tokens that may follow share all of the probability.
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
    # Too few are left only if a beam cannot continue; candidates with a total this low are ignored later.
    order += [place for place in best(totals, 2 * count).tolist() if place not in order][: count - len(order)]
    return totals, np.array(order)
