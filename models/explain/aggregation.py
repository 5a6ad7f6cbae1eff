"""Many heads as one picture: one head, their mean, their maximum, or attention followed through the layers."""

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError
from models.outputs import MEAN, Attention

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
