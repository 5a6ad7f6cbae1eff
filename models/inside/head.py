"""One attention head, step by step: scores, divided, masked, softmax, weighted sum (Vaswani et al., 2017, 3.2.1)."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.inside.anatomy import LayerParts
from models.inside.head_outputs import HeadNumbers, Numbers
from models.inside.softmax import shares


def attend(queries: Numbers, keys: Numbers, values: Numbers, divisor: float, masked: NDArray[np.bool_]) -> HeadNumbers:
    """A head over queries, keys and values `[token, d_k]`; its deviation is not known yet and said to be zero."""
    scores = queries @ keys.T
    scaled, weights = shares(scores, divisor, masked)
    return HeadNumbers(queries, keys, values, scores, divisor, scaled, masked, weights, weights @ values, 0.0)


def heads_of(parts: LayerParts, vectors: Tensor, masked: NDArray[np.bool_]) -> tuple[HeadNumbers, ...]:
    """All heads of a layer over what its attention reads, `[token, width]`."""
    queries, keys, values = (
        np.split(each.float().cpu().numpy(), parts.heads, axis=-1) for each in parts.project(vectors)
    )
    return tuple(
        attend(query, key, value, 1 / parts.scaling, masked)
        for query, key, value in zip(queries, keys, values, strict=True)
    )


def compared(numbers: HeadNumbers, weights: Numbers, outputs: Numbers) -> float:
    """The greatest distance of a head's weights and outputs from the model's own."""
    return float(max(np.abs(numbers.weights - weights).max(), np.abs(numbers.outputs - outputs).max()))
