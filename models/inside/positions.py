"""Sinusoidal positional encoding (Vaswani et al., 2017, section 3.5)."""

import numpy as np
from numpy.typing import NDArray

PAPERS_BASE = 10_000


def sinusoidal(length: int, dimension: int, base: float = PAPERS_BASE) -> NDArray[np.float64]:
    """The encoding `[position, component]`: a sine in each even component, in the odd one behind it its cosine.

    Component pair i turns by `base ** (-2i / dimension)` radians from one position to the next.
    """
    pair = np.arange(dimension) // 2
    angles = np.arange(length)[:, None] / base ** (2 * pair / dimension)
    return np.where(np.arange(dimension) % 2 == 0, np.sin(angles), np.cos(angles))
