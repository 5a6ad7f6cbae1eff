"""From logits to probabilities, and the best of many."""

import heapq
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Number = TypeVar("Number", bound=np.floating[Any])
_GROUP = 32
"""The number of scores in a group, of which only the greatest is looked at first."""


def log_softmax(logits: Scores) -> Scores:
    """The logarithms of the probabilities over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def softmax(logits: NDArray[Number]) -> NDArray[Number]:
    """The probabilities over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def best(scores: Scores, count: int) -> NDArray[np.int64]:
    """The places of the `count` greatest of `scores` `[place]`, greatest first; of equal ones, the first."""
    count = min(count, len(scores))
    # At least `count` scores reach the `count`-th greatest of the groups' maxima, so no lower one is among the best.
    peaks = scores[: len(scores) - len(scores) % _GROUP].reshape(_GROUP, -1).max(axis=0)
    if len(peaks) < count:
        peaks = scores
    found = np.flatnonzero(scores >= np.partition(peaks, -count)[-count])
    return np.asarray(found[np.argsort(-scores[found], kind="stable")[:count]])


def without(scores: Scores, barred: Collection[int]) -> Scores:
    """`scores` `[vocabulary]` with those of `barred` tokens at minus infinity, unless nothing else is left.

    A checkpoint's settings may force an end upon a text, whatever it ends with.
    """
    if not barred:
        return scores
    left = scores.copy()
    left[list(barred)] = -np.inf
    return left if np.isfinite(left).any() else scores


def best_choices(log_scores: Sequence[Sequence[float]], count: int) -> list[tuple[int, ...]]:
    """The `count` best ways to choose one candidate per place, best first, as ranks in each place.

    Each place's log scores come best first and a choice is worth their sum. The search keeps one frontier of choices,
    so that eight places of twenty candidates cost no more than a few dozen sums.
    """

    def worth(choice: tuple[int, ...]) -> float:
        return sum(log_scores[place][rank] for place, rank in enumerate(choice))

    start = (0,) * len(log_scores)
    frontier = [(-worth(start), start)]
    seen = {start}
    choices: list[tuple[int, ...]] = []
    while frontier and len(choices) < count:
        _, choice = heapq.heappop(frontier)
        choices.append(choice)
        for place in range(len(choice)):
            after = (*choice[:place], choice[place] + 1, *choice[place + 1 :])
            if after[place] < len(log_scores[place]) and after not in seen:
                seen.add(after)
                heapq.heappush(frontier, (-worth(after), after))
    return choices
