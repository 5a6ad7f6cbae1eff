"""Squares of 16 by 16 numbers of 32 bits, turned about their diagonal in registers."""

from typing import Any

from llvmlite import ir
from numba import types

from models.kernels.language import instruction

SIDE = 16
_NUMBERS = ir.VectorType(ir.IntType(32), SIDE)
_INDEX = ir.IntType(64)


def _turn(builder: Any, source: Any, apart: Any, target: Any, target_apart: Any) -> None:
    def at(address: Any, stride: Any, row: int) -> Any:
        there = builder.add(address, builder.mul(stride, _INDEX(row)))
        return builder.inttoptr(there, _NUMBERS.as_pointer())

    rows = [builder.load(at(source, apart, row), align=4) for row in range(SIDE)]
    # Eklundh, 1972: squares of 1, 2, 4 and 8 numbers change places across the diagonal of those of twice their side.
    for side in (1, 2, 4, 8):
        upper = _NUMBERS([lane if not lane & side else SIDE + lane - side for lane in range(SIDE)])
        lower = _NUMBERS([lane + side if not lane & side else SIDE + lane for lane in range(SIDE)])
        for row in range(SIDE):
            if not row & side:
                first, second = rows[row], rows[row + side]
                rows[row] = builder.shuffle_vector(first, second, upper)
                rows[row + side] = builder.shuffle_vector(first, second, lower)
    for row, numbers in enumerate(rows):
        builder.store(numbers, at(target, target_apart, row), align=4)


turn = instruction(types.void(types.uintp, types.intp, types.uintp, types.intp), _turn)
"""Write the square at an address to another one; rows lie so many bytes apart, as is said behind each address."""
