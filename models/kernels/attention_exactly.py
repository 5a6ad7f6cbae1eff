"""Attention's products in float32; see `attention.py`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from models.kernels.attention import Products
from models.kernels.encoder_layout import EncoderPass
from models.kernels.language import compiled
from models.kernels.layout import OUTPUTS
from models.kernels.records import floats_at
from models.kernels.tiles import FEW, by_few_floats, by_floats


@compiled
def lay_out(
    head: int, narrow: int, first: int, size: int, of: EncoderPass, keys: int, values: int, _spare: int
) -> None:
    """Keys as tiles `[narrow, 64]`, of which the last may have 32 of them, filled up with zeros; values as they are."""
    width = of.x.shape[1]
    kept = carray(floats_at(values), (size * narrow,))
    for token in range(size):
        value = of.joint[first + token][2 * width + head * narrow :]
        for i in range(narrow):
            kept[token * narrow + i] = value[i]
    for start in range(0, size, OUTPUTS):
        wide, some = OUTPUTS if size - start > FEW else FEW, min(OUTPUTS, size - start)
        tile = carray(floats_at(keys + 4 * start * narrow), (narrow * wide,))
        for i in range(narrow):
            for token in range(some):
                tile[i * wide + token] = of.joint[first + start + token, width + head * narrow + i]
            for token in range(some, wide):
                tile[i * wide + token] = np.float32(0)


@compiled
def ask(query: Any, narrow: int, scale: np.float32, queries: int, row: int) -> None:
    """A query times a scale."""
    kept = carray(floats_at(queries + 4 * row * narrow), (narrow,))
    for i in range(narrow):
        kept[i] = query[i] * scale


@compiled
def shares(scores: int, _room: int, size: int, _rows: int, _spare: int) -> tuple[int, int]:
    """Shares as they are."""
    return scores, size


def products(keep: Callable[..., None]) -> Products:
    """All of them; what is found is kept by `keep`."""
    return Products(lay_out, ask, by_floats, by_few_floats, 4, shares, keep)
