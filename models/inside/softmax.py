"""From scores to shares: divide, hide what is masked, softmax. Free of torch, so that pages can show it at once."""

import numpy as np
from numpy.typing import NDArray

from models.inside.head_outputs import Numbers


def softmax(scores: Numbers) -> Numbers:
    """Shares that sum to one along the last axis: e to the power of each score over the sum of all; −∞ gets none."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


def shares(scores: Numbers, divisor: float, masked: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
    """The scores divided by `divisor`, with −∞ where they are `masked`, and the softmax of that."""
    scaled = np.asarray(scores, dtype=np.float32) / np.float32(divisor)
    hidden = scaled if masked is None else np.where(masked, -np.inf, scaled).astype(np.float32)
    return scaled, softmax(hidden)
