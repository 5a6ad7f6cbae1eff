"""Beam search over one text, a step at a time and equal to transformers' `generate`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList

from models.decoder_state import DecoderState
from models.decoding import ALTERNATIVES, Step, banned_ids, processed, processors_of
from models.scores import Best
from models.scripted import scripted
from models.steps import Writing

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
    state: DecoderState, config: GenerationConfig, num_beams: int, max_new_tokens: int, eos_ids: Sequence[int]
) -> Writing[BeamStep, tuple[Hypothesis, ...]]:
    """The `num_beams` best texts, best first, as transformers' `generate` with `num_return_sequences=num_beams`.

    `state` holds the prompt in one row. Scores are sums of log-probabilities over the number of new tokens to the power
    of the length penalty (Wu et al., 2016, without their constant). Tells each step of the search.
    """
    max_length = state.ids.shape[1] + max_new_tokens
    processors, banned = processors_of(config, max_length), banned_ids(config)
    penalty = 1.0 if config.length_penalty is None else float(config.length_penalty)
    stop_early = config.early_stopping is True
    candidates_kept = max(2, 1 + len(eos_ids)) * num_beams

    finished: list[Hypothesis] = []
    drafts: list[tuple[Step, ...]] = [()] * num_beams
    scores = torch.full((num_beams,), NO_SCORE, device=state.ids.device)
    scores[0] = 0.0
    first = yield from state.next_best()
    said = first.repeated(num_beams)
    state.reorder(torch.zeros(num_beams, dtype=torch.long, device=state.ids.device))
    for length in range(1, max_new_tokens + 1):
        best = _weighed(said, scores, processors, banned, state.ids, candidates_kept)
        weighed = _candidates(said, best)
        hit = [length == max_new_tokens or each.step.id in eos_ids for each in weighed]
        # A candidate that ends counts only among the first `num_beams`; the rest stand by to fill their places.
        done = [False] * candidates_kept
        if not (stop_early and len(finished) == num_beams):
            for rank in range(num_beams):
                if hit[rank] and weighed[rank].total > NO_SCORE / 2:
                    steps = (*drafts[weighed[rank].beam], weighed[rank].step)
                    finished.append(Hypothesis(steps, weighed[rank].total / length**penalty))
                    done[rank] = True
            finished = sorted(finished, key=lambda each: -each.score)[:num_beams]
        # They are in order; those that end come last.
        going_on = sorted(range(candidates_kept), key=hit.__getitem__)[:num_beams]
        over = length == max_new_tokens or (stop_early and len(finished) == num_beams)
        if not over and len(finished) == num_beams:
            best_length = max_new_tokens if config.early_stopping == "never" and penalty > 0 else length
            over = weighed[going_on[0]].total / best_length**penalty <= finished[-1].score
        places = {} if over else {rank: place for place, rank in enumerate(going_on)}
        drafts = [(*drafts[weighed[rank].beam], weighed[rank].step) for rank in places]
        yield BeamStep(
            tuple(
                Candidate(each.beam, each.step, each.total, -1 if hit[rank] else places.get(rank, -1), done[rank])
                for rank, each in enumerate(weighed)
                if each.total > NO_SCORE / 2
            ),
            tuple(drafts),
            tuple(finished),
        )
        if over:
            break
        scores, beams, ids = _chosen(best.totals, best.beams, best.ids, going_on)
        state.reorder(beams)
        state.append(ids)
        said = yield from state.next_best()
    return tuple(finished)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The best candidates of all beams, best first, `[candidate]` each: whose, which token, and what it is worth."""

    beams: Tensor
    ids: Tensor
    totals: Tensor
    own: Tensor


def _weighed(
    said: Best,
    scores: Tensor,
    processors: LogitsProcessorList,
    banned: Sequence[int] | None,
    written: Tensor,
    count: int,
) -> _Weighed:
    """The `count` best by what is `said` of each beam's next token and by the `scores` `[beam]` of the beams so far."""
    known = said.ids.shape[1]
    if banned is None or count + len(banned) > known:
        log_probabilities = said.logits.log_softmax(dim=-1)
        totals = processed(processors, written, log_probabilities) + scores[:, None]
        best = totals.flatten().topk(count)
        beams, ids = best.indices // totals.shape[1], best.indices % totals.shape[1]
        return _Weighed(beams, ids, best.values, log_probabilities[beams, ids])
    # Not even all of one beam's own best are more than what is at hand of it.
    return _Weighed(*_best_at_hand(said.ids, said.log_probabilities, scores, list(banned), count))


@scripted
def _best_at_hand(
    ids: Tensor, log_probabilities: Tensor, scores: Tensor, banned: list[int], count: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    totals = log_probabilities + scores[:, None]
    for token in banned:
        totals = totals.masked_fill(ids == token, float("-inf"))
    best, places = totals.flatten().topk(count)
    beams = places // ids.shape[1]
    return beams, ids.flatten()[places], best, log_probabilities.flatten()[places]


def _candidates(said: Best, best: _Weighed) -> list[Candidate]:
    """The same with what each beam might have gone on with instead."""
    others, shares, own = _shown(said.ids, said.log_probabilities, best.own, ALTERNATIVES)
    alternatives = [tuple(zip(*row, strict=True)) for row in zip(others.tolist(), shares.tolist(), strict=True)]
    rows = zip(best.beams.tolist(), best.ids.tolist(), own.tolist(), best.totals.tolist(), strict=True)
    return [Candidate(beam, Step(chosen, share, alternatives[beam]), total) for beam, chosen, share, total in rows]


@scripted
def _shown(ids: Tensor, log_probabilities: Tensor, own: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The first `count` ids and shares of each row, and the shares of those of their own log-probabilities."""
    return ids[:, :count], log_probabilities[:, :count].exp(), own.exp()


@scripted
def _chosen(totals: Tensor, beams: Tensor, ids: Tensor, places: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    at = torch.tensor(places, device=totals.device)
    return totals[at], beams[at], ids[at]
