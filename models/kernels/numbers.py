"""Numbers of 16 bits that an encoder's products multiply: how they are kept, and their product by a tile.

For answers in bfloat16. For attention that is looked at as whole numbers: of each row's inputs those of a group, which
follow each other, have a factor that stands behind the row, and the weights of each output have one that stands behind
the tile; a factor is a float32, in the place of two numbers. Sums over a group are exact.
"""

from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from models.kernels.arithmetic import largest_size_at, rounded, whole
from models.kernels.encoder_layout import FACTOR, MOST_INPUT
from models.kernels.language import compiled
from models.kernels.layout import OUTPUTS
from models.kernels.records import floats_at
from models.kernels.tiles import FETCHED, by_pairs, by_whole

FETCHED_FOR_AN_INPUT = FETCHED // 2
"""Bytes, while a few rows are multiplied; two inputs are at once."""

_TINY = np.float32(1e-30)


@compiled
def keep_rounded(x: Any, count: int, _group: int, row: Any, start: int) -> None:
    """Keep the first `count` of `x` in a `row` from `start` on."""
    to = row[start:]
    for i in range(count):
        to[i] = rounded(x[i])


@compiled
def times_rounded(x: Any, first: int, rows: int, tile: Any, bytes_ahead: int, _group: int, sums: Any) -> None:
    """The product of some `rows` of `x` `[token, in]` by a `tile` `[in, 64]`, as `sums` `[row, 64]`.

    Meanwhile memory is fetched from an address on (`bytes_ahead`).
    """
    stride = x.shape[1]
    by_pairs(x[first].ctypes.data, stride, stride, rows, tile.ctypes.data, sums.ctypes.data, OUTPUTS, bytes_ahead)


@compiled
def keep_whole(x: Any, count: int, group: int, row: Any, start: int) -> None:
    """The same as whole numbers; `count` and `start` are multiples of `group`."""
    width = len(row) * group // (group + FACTOR)
    factors = carray(floats_at(row[width:].ctypes.data), (width // group,))
    for first in range(0, count, group):
        here, to = x[first : first + group], row[start + first : start + first + group]
        step = max(largest_size_at(here.ctypes.data, group), _TINY) / np.float32(MOST_INPUT)
        factors[(start + first) // group] = step
        for i in range(group):
            to[i] = whole(here[i] / step)


@compiled
def times_whole(x: Any, first: int, rows: int, tile: Any, bytes_ahead: int, group: int, sums: Any) -> None:
    """The same by whole numbers, of which a group of inputs has a factor."""
    stride, count = x.shape[1], len(tile) - FACTOR
    for i in range(rows * OUTPUTS):
        sums[i] = np.float32(0)
    inputs, weights = x[first].ctypes.data, tile.ctypes.data
    for start in range(0, count, group):
        by_whole(
            inputs + 2 * start, stride, group, rows, weights + 2 * OUTPUTS * start, sums.ctypes.data, OUTPUTS,
            bytes_ahead + start * FETCHED_FOR_AN_INPUT, inputs + 2 * count + start // group * 4,
        )  # fmt: skip
    factors = carray(floats_at(tile[count].ctypes.data), (OUTPUTS,))
    for row in range(rows):
        for i in range(OUTPUTS):
            sums[row * OUTPUTS + i] *= factors[i]
