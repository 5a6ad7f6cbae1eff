"""Memory between the phases of passes, used again: new memory is given by the system page by page, and cleared."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_APART = 64
"""Arrays begin at multiples of so many bytes behind the first: a line of the caches."""


class Part:
    """Room for one pass."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)
        self._used = 0

    def numbers(self, kind: type, *shape: int) -> NDArray[Any]:
        """An array of this `kind` and `shape`, with whatever was there."""
        size = prod(shape) * np.dtype(kind).itemsize
        start = self._used
        self._used += -(-size // _APART) * _APART
        if self._used > len(self._bytes):
            # What came before keeps what it has; the next pass finds room for all.
            return np.empty(shape, kind)
        return self._bytes[start : start + size].view(kind).reshape(shape)

    def begin(self) -> None:
        """Give all that was used to the next pass."""
        if self._used > len(self._bytes):
            self._bytes = np.empty(self._used, np.uint8)
        self._used = 0


class Room:
    """As many parts as there were passes at once."""

    def __init__(self) -> None:
        self._free: list[Part] = []

    @contextmanager
    def taken(self) -> Iterator[Part]:
        """Room for a pass, which nobody else uses meanwhile."""
        try:
            part = self._free.pop()
        except IndexError:
            part = Part()
        part.begin()
        try:
            yield part
        finally:
            self._free.append(part)
