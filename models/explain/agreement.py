"""Whether attention and attribution name the same tokens: their rank correlation (Jain and Wallace, 2019)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.outputs import Attribution

_FEWEST = 3


def received(weights: NDArray[np.float32], masked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean weight `[key]` that each token gets from those that may look at it; `weights` are `[query, key]`."""
    lookers = np.maximum((~masked).sum(axis=0), 1)
    return np.asarray(np.where(masked, 0, weights).sum(axis=0, dtype=np.float64) / lookers)


def agreement(attribution: Attribution, weights: NDArray[np.float32], masked: NDArray[np.bool_]) -> float | None:
    """Spearman's rank correlation between the size of each token's score and the attention that it receives.

    From -1 (the opposite order) to 1 (the same order); none for fewer than three tokens, or all alike. `weights` and
    `masked` are `[query, key]` over the same tokens, or over more that were written after them. Marks and
    blanks are left out: their scores are zero by definition.
    """
    count = len(attribution.tokens)
    words = [place for place, token in enumerate(attribution.tokens) if not (token.is_mark or token.is_blank)]
    attended = received(weights[:count, :count], masked[:count, :count])
    return rank_correlation([abs(attribution.scores[place]) for place in words], attended[words].tolist())


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal numbers sharing their mean rank; none for fewer than three, or all alike."""
    if len(first) < _FEWEST:
        return None
    ranks = [_ranks(np.asarray(each, dtype=np.float64)) for each in (first, second)]
    centred = [each - each.mean() for each in ranks]
    scale = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum() / scale) if scale else None


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of each value from 1, equal ones sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])
