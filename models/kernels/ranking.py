"""The best words of a row of scores, of which those at the top are computed again exactly."""

from typing import Any

import numpy as np

from models.kernels.arithmetic import exponential
from models.kernels.language import compiled
from models.kernels.layout import OUTPUTS


@compiled
def sum_up(scores: Any, tile: int, largest: Any, sums: Any) -> None:
    """Of the `scores` `[up to 64]` of one `tile` the `largest` `[tile]`, and the sum of their powers of e below it."""
    most = np.float32(-np.inf)
    for i in range(len(scores)):
        most = max(most, scores[i])
    total = np.float32(0)
    for i in range(len(scores)):
        total += exponential(scores[i] - most)
    largest[tile], sums[tile] = most, total


@compiled
def _insert(score: np.float32, word: int, count: int, values: Any, words: Any) -> int:
    """Let a `word` take its place among the `count` best, which are sorted; how many there are then."""
    place = min(count, len(values) - 1)
    while place > 0 and values[place - 1] < score:
        values[place], words[place] = values[place - 1], words[place - 1]
        place -= 1
    values[place], words[place] = score, word
    return min(count + 1, len(values))


@compiled
def rank(
    scores: Any, largest: Any, sums: Any, x: Any, exact: Any, values: Any, words: Any, found: Any, before: Any
) -> None:  # fmt: skip
    """The `words` `[most]` with the highest `scores` `[word]`, best first, and the logarithms of their probabilities.

    Those at the top by `scores` are computed again as what `x` `[width]` makes by the `exact` weight `[word, width]`,
    and stand in `scores` then. `largest` and `sums` `[tile]` are those of `sum_up`; `found` and `before` `[most]` are
    room.
    """
    count, most = 0, len(values)
    for tile in range(len(largest)):
        if count == most and largest[tile] <= values[most - 1]:
            continue
        for word in range(tile * OUTPUTS, min((tile + 1) * OUTPUTS, len(scores))):
            if count < most or scores[word] > values[most - 1]:
                count = _insert(scores[word], word, count, values, words)
    top = values[0]
    for place in range(most):
        row, score = exact[words[place]], np.float32(0)
        for i in range(len(x)):
            score += x[i] * row[i]
        found[place] = score
        top = max(top, score)
    total = np.float64(0)
    for tile in range(len(largest)):
        total += sums[tile] * exponential(largest[tile] - top)
    for place in range(most):
        total += exponential(found[place] - top) - exponential(values[place] - top)
        scores[words[place]] = found[place]
    _sort(found, before, values, words)
    below = top + np.float32(np.log(total))
    for place in range(most):
        values[place] -= below


@compiled
def _sort(found: Any, before: Any, values: Any, words: Any) -> None:
    """Let `values` be those that were `found` for `words`, and both be sorted, best first; `before` is room."""
    for place in range(len(found)):
        before[place] = words[place]
    count = 0
    for place in range(len(found)):
        count = _insert(found[place], before[place], count, values, words)
