"""Attention's products in bfloat16, scores and sums in float32; see `attention.py`.

Numbers that are multiplied one after the other stand side by side in pairs (see `tiles.py`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from models.kernels.arithmetic import pair, rounded
from models.kernels.attention import Products
from models.kernels.encoder_layout import EncoderPass
from models.kernels.language import compiled
from models.kernels.layout import OUTPUTS
from models.kernels.records import floats_at, halves_at, pairs_at
from models.kernels.squares import SIDE, turn
from models.kernels.tiles import FEW, by_few_pairs, by_pairs


@compiled
def lay_out(head: int, narrow: int, first: int, size: int, of: EncoderPass, keys: int, values: int, spare: int) -> None:
    """Keys as tiles `[narrow / 2, 64, 2]`, of which the last may have 32 of them; values as `[size / 2, narrow, 2]`.

    Both are filled up with zeros.
    """
    width, nothing = of.x.shape[1], np.float32(0)
    for token in range(0, size, 2):
        value = of.joint[first + token][2 * width + head * narrow :]
        both = carray(pairs_at(values + 2 * token * narrow), (narrow,))
        if token + 1 < size:
            other = of.joint[first + token + 1][2 * width + head * narrow :]
            for i in range(narrow):
                both[i] = pair(value[i], other[i])
        else:
            for i in range(narrow):
                both[i] = pair(value[i], nothing)
    for start in range(0, size, OUTPUTS):
        wide = OUTPUTS if size - start > FEW else FEW
        for left in range(0, wide, SIDE):
            _keep_keys(head, narrow, first + start + left, first + size, of, spare)
            tile = keys + 2 * start * narrow + 4 * left
            for top in range(0, narrow // 2, SIDE):
                turn(spare + 4 * top, 2 * narrow, tile + 4 * wide * top, 4 * wide)


@compiled
def _keep_keys(head: int, narrow: int, first: int, end: int, of: EncoderPass, spare: int) -> None:
    """The keys of 16 tokens as `[16, narrow]`, of those that stand before the `end`; the others are zeros."""
    width = of.x.shape[1]
    for row in range(SIDE):
        kept = carray(halves_at(spare + 2 * row * narrow), (narrow,))
        if first + row < end:
            key = of.joint[first + row][width + head * narrow :]
            for i in range(narrow):
                kept[i] = rounded(key[i])
        else:
            for i in range(narrow):
                kept[i] = 0


@compiled
def ask(query: Any, narrow: int, scale: np.float32, queries: int, row: int) -> None:
    """A query times a scale."""
    kept = carray(halves_at(queries + 2 * row * narrow), (narrow,))
    for i in range(narrow):
        kept[i] = rounded(query[i] * scale)


@compiled
def shares(scores: int, room: int, size: int, rows: int, spare: int) -> tuple[int, int]:
    """Shares rounded, and filled up with a zero where they are odd."""
    even = (size + 1) // 2 * 2
    for row in range(rows):
        exact = carray(floats_at(scores + 4 * row * room), (size,))
        kept = carray(halves_at(spare + 2 * row * room), (even,))
        kept[even - 1] = 0
        for i in range(size):
            kept[i] = rounded(exact[i])
    return spare, even


def products(keep: Callable[..., None]) -> Products:
    """All of them; what is found is kept by `keep`."""
    return Products(lay_out, ask, by_pairs, by_few_pairs, 2, shares, keep)
