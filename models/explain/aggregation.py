"""Attention over many heads: mean, maximum, rollout (Abnar & Zuidema, 2020), and agreement with attribution."""

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.outputs.attention import MEAN, Attention, Attribution
from models.wording import Sentence

WAYS = ("head", "mean", "maximum", "rollout")
"""The ways to aggregate heads."""

# As in the paper, the heads' output and the residual connection count the same.
_RESIDUAL = 0.5


def reduce(attention: Attention, how: str = "head", layer: int = MEAN, head: int = MEAN) -> NDArray[np.float32]:
    """Aggregate the weights into one matrix `[query, key]`; raises `InputError` for a way, layer or head not there.

    - `head`: the weights of one layer and head, each counted from 0, `MEAN` for the mean over all;
    - `mean`: the mean over the heads of `layer`, or over all layers and heads;
    - `maximum`: the greatest weight that any head of `layer`, or of any layer, gives; rows sum to one or more;
    - `rollout`: how much of each input token has reached each position after `layer`, or after the last one.
    """
    match how:
        case "head":
            return attention.matrix(layer, head)
        case "mean":
            return attention.matrix(layer)
        case "maximum":
            return np.asarray(attention.weights[attention.chosen(layer)].max(axis=(0, 1)), dtype=np.float32)
        case "rollout":
            return rollout(attention, layer)
        case _:
            raise InputError(Sentence("Heads can be brought together by: {ways}.", ways=", ".join(WAYS)), "how")


def rollout(attention: Attention, layer: int = MEAN) -> NDArray[np.float32]:
    """Attention rollout `[query, key]` (Abnar and Zuidema, 2020, section 3) through layers 0 to `layer`, `MEAN`: all.

    The product of `0.5 W + 0.5 I` over the layers, with `W` the mean of a layer's heads; each row sums to one.
    Raises `InputError` for cross-attention, whose rows and columns are different texts.
    """
    if not attention.within_one_text:
        raise InputError(
            Sentence("Rollout follows a text through its own layers, so it is not there between two texts."), "how"
        )
    rolled = np.eye(len(attention.key_tokens), dtype=np.float32)
    for weights in attention.weights[: attention.chosen(layer).stop]:
        # The same as (0.5 W + 0.5 I) @ rolled, without building the sum.
        rolled = _RESIDUAL * (weights.mean(axis=0) @ rolled) + (1 - _RESIDUAL) * rolled
    return np.asarray(rolled, dtype=np.float32)


def agreement(attribution: Attribution, weights: NDArray[np.float32], masked: NDArray[np.bool_]) -> float | None:
    """Spearman's rank correlation between the size of each token's score and the attention that it receives.

    It runs from -1 (the opposite order) to 1 (the same order), ties sharing their mean rank, and is `None` for fewer
    than three tokens, or if all are equal. `weights` and `masked` are `[query, key]` over the same tokens, or more
    after them. Marks, blanks and a first token that was never blank are left out: their scores are zero by definition.
    """
    count = len(attribution.tokens)
    words = [place for place, token in enumerate(attribution.tokens) if not (token.is_mark or token.is_blank)]
    words = words[attribution.first_kept :]
    if len(words) < 3:
        return None
    weights, masked = weights[:count, :count], masked[:count, :count]
    # The mean over the queries that may look at a token, since under a causal mask these differ in number.
    received = np.where(masked, 0, weights).sum(axis=0, dtype=np.float64) / np.maximum((~masked).sum(axis=0), 1)
    centred = []
    for values in (np.abs(attribution.scores)[words], received[words]):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
        centred.append(ranks - ranks.mean())
    scale = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum() / scale) if scale else None
