"""What passes are given, as both sides know it: named arrays, and how they stand in a record.

A record is a row of whole numbers of 64 bits, `FIELDS` for each array in order: its address and its sizes, of which
there are four at most. Known without Numba.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELDS = 5

OUTPUTS = 64
"""How many outputs one tile of weights has."""

MOST_ROWS = 6
"""Of one tile's product; each thread has room for so many rows of sums."""

COUNTS = 48
"""Numbers of 64 bits that `sharing.py` counts in."""

MAILBOX = 32
"""Numbers of 64 bits by which a helper is asked; see `helping.py`."""

STATE = 4
"""Where a mailbox says whether somebody is asked."""

Record = NDArray[np.int64]


def record_of(arrays: Iterable[NDArray[Any]]) -> Record:
    """The record of `arrays`, which somebody else must keep; each lies in one piece."""
    rows = []
    for array in arrays:
        address, shape = array.__array_interface__["data"][0], array.shape
        rows.append((address, *shape, *(0,) * (FIELDS - 1 - len(shape))))
    return np.array(rows, np.int64).reshape(-1)
