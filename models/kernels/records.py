"""The arrays of a record; see `layout.py`."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]

from models.kernels.language import compiled, instruction
from models.kernels.layout import FIELDS


def _pointer(kind: Any, number: ir.Type) -> Callable[..., Any]:
    def write(builder: Any, address: Any) -> Any:
        return builder.inttoptr(address, number.as_pointer())

    return instruction(types.CPointer(kind)(types.uintp), write)


floats_at = _pointer(types.float32, ir.FloatType())
"""A pointer to the float32 numbers at an address, for `numba.carray`."""

halves_at = _pointer(types.int16, ir.IntType(16))
pairs_at = _pointer(types.int32, ir.IntType(32))
"""The same for numbers of 16 bits and for pairs of them."""

_counts_at = _pointer(types.int64, ir.IntType(64))


_Reader = Callable[[Any, int], Any]


def _readers(at: Callable[..., Any]) -> tuple[_Reader, _Reader, _Reader, _Reader]:
    """Functions that give the array at a place of a record, with one dimension to four."""

    @compiled
    def row(record: Any, place: int) -> Any:
        start = place * FIELDS
        return carray(at(record[start]), (record[start + 1],))

    @compiled
    def matrix(record: Any, place: int) -> Any:
        start = place * FIELDS
        return carray(at(record[start]), (record[start + 1], record[start + 2]))

    @compiled
    def table(record: Any, place: int) -> Any:
        start = place * FIELDS
        return carray(at(record[start]), (record[start + 1], record[start + 2], record[start + 3]))

    @compiled
    def block(record: Any, place: int) -> Any:
        start = place * FIELDS
        return carray(at(record[start]), (record[start + 1], record[start + 2], record[start + 3], record[start + 4]))

    return row, matrix, table, block


floats, matrix_of_floats, table_of_floats, block_of_floats = _readers(floats_at)
_, matrix_of_halves, table_of_halves, block_of_halves = _readers(halves_at)
_, _, table_of_bytes, _ = _readers(_pointer(types.int8, ir.IntType(8)))
counts, matrix_of_counts, _, _ = _readers(_counts_at)


@compiled
def numbers_at(address: int, size: int) -> Any:
    """So many whole numbers at an address."""
    return carray(_counts_at(address), (size,))


@compiled
def record_at(address: int, arrays: int) -> Any:
    """The record of so many arrays at an address."""
    return numbers_at(address, arrays * FIELDS)
