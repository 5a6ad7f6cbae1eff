"""Attention over many heads: mean, maximum, rollout (Abnar & Zuidema, 2020), and agreement with attribution."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.outputs import MEAN, Attention, Attribution

WAYS = ("head", "mean", "maximum", "rollout")
"""How heads can be brought together."""

# Each layer adds what its heads mixed to what it had: as in the paper, the two count the same.
_RESIDUAL = 0.5


def reduce(attention: Attention, how: str = "head", layer: int = MEAN, head: int = MEAN) -> NDArray[np.float32]:
    """One matrix `[query, key]` of all the weights; raises `InputError` for what is not there.

    - `head`: the weights of one layer and head, each counted from 0, `MEAN` for the mean over all;
    - `mean`: the mean over the heads of `layer`, or over all layers and heads;
    - `maximum`: the greatest weight that any head of `layer`, or of any layer, gives; rows sum to one or more;
    - `rollout`: how much of each token has come to each place by the end of `layer`, or of the last one.

    `mean`, `maximum` and `rollout` do not look at `head`.
    """
    match how:
        case "head":
            return attention.matrix(layer, head)
        case "mean":
            return attention.matrix(layer)
        case "maximum":
            chosen = attention.weights[_checked(attention, layer)]
            return np.asarray(chosen.max(axis=(0, 1)), dtype=np.float32)
        case "rollout":
            return rollout(attention, layer)
        case _:
            raise InputError(f"Heads can be brought together by: {', '.join(WAYS)}.", "how")


def rollout(attention: Attention, layer: int = MEAN) -> NDArray[np.float32]:
    """Attention rollout `[query, key]` (Abnar and Zuidema, 2020, section 3) through layers 0 to `layer`, `MEAN`: all.

    The product of `0.5 W + 0.5 I` over the layers, with `W` the mean of a layer's heads; each row sums to one.
    Raises `InputError` for cross-attention, whose rows and columns are different texts.
    """
    if not attention.within_one_text:
        raise InputError("Rollout follows a text through its own layers, so it is not there between two texts.", "how")
    last = _checked(attention, layer).stop
    rolled = np.eye(len(attention.key_tokens), dtype=np.float32)
    for weights in attention.weights[:last]:
        # The same as (0.5 W + 0.5 I) @ rolled, without building the sum.
        rolled = _RESIDUAL * (weights.mean(axis=0) @ rolled) + (1 - _RESIDUAL) * rolled
    return np.asarray(rolled, dtype=np.float32)


def _checked(attention: Attention, layer: int) -> slice:
    """The layers that `layer` stands for; raises `InputError` when it is not there."""
    if not MEAN <= layer < attention.layers:
        raise InputError(f"Layer {layer} is not there: this model has layers 0 to {attention.layers - 1}.", "layer")
    return slice(0, attention.layers) if layer == MEAN else slice(layer, layer + 1)


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
