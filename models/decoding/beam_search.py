"""Beam search over one text, a step at a time and equal to transformers' `generate`."""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import itemgetter

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList

from models.decoding.copying import Copying
from models.decoding.generate import ALTERNATIVES, Step, banned_ids, processed, processors_of
from models.decoding.scores import Best
from models.decoding.state import DecoderState
from models.decoding.whole_characters import WholeCharacters, without

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
    """What one step weighed, best first; `drafts` are the beams that go on, `finished` the best texts so far."""

    candidates: tuple[Candidate, ...]
    drafts: tuple[tuple[Step, ...], ...]
    finished: tuple[Hypothesis, ...]


def beam_search(
    state: DecoderState,
    config: GenerationConfig,
    num_beams: int,
    max_new_tokens: int,
    eos_ids: Sequence[int],
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
    max_length = state.ids.shape[1] + max_new_tokens
    processors, banned = processors_of(config, max_length), banned_ids(config)
    penalty = 1.0 if config.length_penalty is None else float(config.length_penalty)
    stop_early = config.early_stopping is True
    candidates_kept = max(2, 1 + len(eos_ids)) * num_beams

    finished: list[Hypothesis] = []
    drafts: list[tuple[Step, ...]] = [()] * num_beams
    scores = [0.0] + [NO_SCORE] * (num_beams - 1)
    said = state.next_best().repeated(num_beams)
    state.reorder([0] * num_beams)
    for length in range(1, max_new_tokens + 1):
        broken = [characters.barred(row) if characters else frozenset[int]() for row in state.rows]
        barred = broken
        if copying:
            barred = [before | copying.barred(row) for before, row in zip(broken, state.rows, strict=True)]
        weighed = None
        if banned is not None and not copying:
            weighed = _best_at_hand(said, scores, [each | banned for each in barred], candidates_kept, broken)
        if weighed is None:
            weighed = _best_of_all(said, scores, processors, state.ids, candidates_kept, barred, broken, copying)
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
            best_length = max_new_tokens if config.early_stopping == "never" and penalty > 0 else length
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
        said = state.next_best()


@dataclass(frozen=True)
class _Weighed:
    """The best candidates of all beams, best first: whose, which token, and what the draft and the token are worth.

    And of each beam, best first, the ids and log-probabilities of the tokens that it might have gone on with.
    """

    beams: list[int]
    ids: list[int]
    totals: list[float]
    own: list[float]
    others: list[list[tuple[int, float]]]

    @cached_property
    def _alternatives(self) -> list[tuple[tuple[int, float], ...]]:
        return [tuple((token, math.exp(own)) for token, own in row) for row in self.others]

    def step(self, rank: int) -> Step:
        """That candidate's token, with what its beam might have gone on with instead."""
        return Step(self.ids[rank], math.exp(self.own[rank]), self._alternatives[self.beams[rank]])

    def draft(self, drafts: Sequence[tuple[Step, ...]], rank: int) -> tuple[Step, ...]:
        """The whole draft of a candidate, by the `drafts` of all beams."""
        return (*drafts[self.beams[rank]], self.step(rank))

    def candidates(self, places: Mapping[int, int], done: Container[int]) -> tuple[Candidate, ...]:
        """All that are possible, with the `places` of those that go on; those that are `done` finished a text."""
        return tuple(
            Candidate(self.beams[rank], self.step(rank), total, places.get(rank, -1), rank in done)
            for rank, total in enumerate(self.totals)
            if total > NO_SCORE / 2
        )


def _best_of_all(
    said: Best,
    scores: Sequence[float],
    processors: LogitsProcessorList,
    written: Tensor,
    count: int,
    barred: Sequence[Collection[int]],
    broken: Sequence[Collection[int]],
    copying: Copying | None,
) -> _Weighed:
    """The `count` best by what is `said` of each beam's next token and by the `scores` of the beams so far.

    `written` `[beam, token]` is what the `processors` judge by. Of each beam, what is `barred` is not chosen, and what
    is `broken` not shown.
    """
    own = said.logits.log_softmax(dim=-1)
    free = torch.stack([without(row, not_these) for row, not_these in zip(own, barred, strict=True)])
    totals = processed(processors, written, free)
    if copying:
        best_values, best_places = _best_with_copies(totals, scores, written.tolist(), copying, count)
    else:
        totals = totals + own.new_tensor(scores)[:, None]
        best_values, best_places = totals.flatten().topk(count)
    beams, ids = best_places // totals.shape[1], best_places % totals.shape[1]
    shown = _shown(said, broken)
    return _Weighed(beams.tolist(), ids.tolist(), best_values.tolist(), own[beams, ids].tolist(), shown)


def _best_with_copies(
    totals: Tensor, scores: Sequence[float], written: list[list[int]], copying: Copying, count: int
) -> tuple[Tensor, Tensor]:
    """The `count` best values and places in `totals` `[beam, word]`, by turns of every number of copies that are begun.

    Drafts with fewer copies always look likelier, so each number has beams of its own (dynamic beam allocation: Post
    and Vilar, 2018). Within a copy, what may follow shares all of the probability.
    """
    number = torch.zeros_like(totals, dtype=torch.long)
    for beam, row in enumerate(written):
        number[beam], going_on = copying.progress(row)
        number[beam, list(going_on)] += 1
        if copying.is_within(row):
            totals[beam] = totals[beam].log_softmax(dim=-1)
    totals = (totals + totals.new_tensor(scores)[:, None]).flatten()
    turns: list[tuple[int, int]] = []
    for each in sorted(set(number.flatten().tolist()), reverse=True):
        best = totals.masked_fill(number.flatten() != each, float("-inf")).topk(count)
        turns += [(turn, place) for turn, place in enumerate(best.indices.tolist()) if best.values[turn] > NO_SCORE / 2]
    order = [place for _, place in sorted(turns, key=itemgetter(0))][:count]
    # Too few are left only where a beam has no way on; these do no harm, as they count for nothing.
    order += [place for place in totals.topk(2 * count).indices.tolist() if place not in order][: count - len(order)]
    places = torch.tensor(order, device=totals.device)
    return totals[places], places


def _best_at_hand(
    said: Best,
    scores: Sequence[float],
    barred: Sequence[Collection[int]],
    count: int,
    broken: Sequence[Collection[int]],
) -> _Weighed | None:
    """The same among the best at hand alone; None where fewer than `count` of a beam's are free.

    So few are sorted sooner by Python than by several operations of torch.
    """
    ids, own = said.ids.tolist(), said.log_probabilities.tolist()
    worth: list[tuple[float, int, int, float]] = []
    for beam, (before, not_these) in enumerate(zip(scores, barred, strict=True)):
        pairs = zip(ids[beam], own[beam], strict=True)
        # Not even all of one beam's own best are more than this.
        free = list(islice((each for each in pairs if each[0] not in not_these), count))
        if len(free) < count:
            return None
        worth += [(before + value, beam, token, value) for token, value in free]
    worth.sort(key=itemgetter(0), reverse=True)
    totals, beams, tokens, values = map(list, zip(*worth[:count], strict=True))
    return _Weighed(beams, tokens, totals, values, _shown(said, broken))


def _shown(said: Best, broken: Sequence[Collection[int]]) -> list[list[tuple[int, float]]]:
    """The likeliest of each beam that are not `broken`, which visitors are shown."""
    return [row.best(ALTERNATIVES, bad) for row, bad in zip(said.rows(), broken, strict=True)]
