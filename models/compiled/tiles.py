"""A few rows times 64 outputs' weights, the sums kept in registers: what all of a pass's products are made of.

Weights lie as `[input, 64]`, so that they come from memory in the order in which they are needed, once for all rows.
They are 16-bit floats, or whole numbers of 8 bits that somebody scales afterwards; inputs and sums are float32.
"""

from collections.abc import Callable
from functools import reduce
from itertools import chain
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.compiled.compiler import compiled, instruction

OUTPUTS = 64
"""How many outputs one tile has; four registers for each row."""

_LANES = 16
_FLOATS = ir.VectorType(ir.FloatType(), _LANES)
_HALVES = ir.VectorType(ir.HalfType(), _LANES)
_BYTES = ir.VectorType(ir.IntType(8), _LANES)
_WHOLE = ir.VectorType(ir.IntType(32), _LANES)
_INDEX, _PLACE = ir.IntType(64), ir.IntType(32)
_REGISTERS = OUTPUTS // _LANES
_SUMS_IN_FLIGHT = 4
"""Sums of single rows are added up in so many parts: each addition waits for the one before it."""


def _tile(rows: int, kept: ir.VectorType) -> Callable[..., Any]:
    """The product of so many `rows` by a tile whose weights are `kept` so.

    It takes the addresses of the weights and of the inputs, how many numbers one row of inputs is behind the other, the
    number of inputs, and the address of the sums `[row, 64]`.
    """
    steps = max(1, _SUMS_IN_FLIGHT // rows)

    def write(builder: Any, weights: Any, inputs: Any, stride: Any, count: Any, sums: Any) -> None:
        before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("loop", "after"))
        builder.branch(loop)
        builder.position_at_end(loop)
        first = builder.phi(_INDEX)
        # For each step and row, the registers of its sums.
        sets = [[builder.phi(_FLOATS) for _ in range(_REGISTERS)] for _ in range(steps * rows)]
        added = [
            _added(builder, weights, inputs, stride, builder.add(first, _INDEX(step)), sets[step * rows :][:rows], kept)
            for step in range(steps)
        ]
        greater = [new for step in added for new in step]
        following = builder.add(first, _INDEX(steps))
        builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
        first.add_incoming(_INDEX(0), before)
        first.add_incoming(following, loop)
        for total, new in zip(chain(*sets), chain(*greater), strict=True):
            total.add_incoming(_FLOATS([0.0] * _LANES), before)
            total.add_incoming(new, loop)
        builder.position_at_end(after)
        for row in range(rows):
            for register in range(_REGISTERS):
                parts = [new[register] for new in greater[row::rows]]
                place = _INDEX(row * OUTPUTS + register * _LANES)
                builder.store(reduce(builder.fadd, parts), _at(builder, sums, place, 4, _FLOATS), align=4)

    return instruction(types.void(types.uintp, types.uintp, types.intp, types.intp, types.uintp), write)


def _added(
    builder: Any, weights: Any, inputs: Any, stride: Any, place: Any, sets: Any, kept: ir.VectorType
) -> list[list[Any]]:
    """The sums of all rows, `sets` of registers, with the input that has this `place` multiplied and added."""
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{_LANES}f32")  # type: ignore[no-untyped-call]
    read = [_weights(builder, weights, place, register, kept) for register in range(_REGISTERS)]
    found = []
    for row, totals in enumerate(sets):
        here = builder.add(builder.mul(_INDEX(row), stride), place)
        number = _everywhere(builder, builder.load(_at(builder, inputs, here, 4, ir.FloatType())))
        found.append([builder.call(fused, [weight, number, total]) for weight, total in zip(read, totals, strict=True)])
    return found


def _at(builder: Any, address: Any, place: Any, size: int, kind: Any) -> Any:
    """A pointer to what is at a `place` behind an `address`, counted in numbers of so many bytes."""
    return builder.inttoptr(builder.add(address, builder.mul(place, _INDEX(size))), kind.as_pointer())


def _everywhere(builder: Any, number: Any) -> Any:
    """A `number` in all lanes of a register."""
    nothing = _FLOATS(ir.Undefined)
    alone = builder.insert_element(nothing, number, _PLACE(0))
    return builder.shuffle_vector(alone, nothing, _WHOLE([0] * _LANES))


def _weights(builder: Any, weights: Any, place: Any, register: int, kept: ir.VectorType) -> Any:
    """One register of the weights of one input, as float32."""
    size = 2 if kept is _HALVES else 1
    here = builder.add(builder.mul(place, _INDEX(OUTPUTS)), _INDEX(register * _LANES))
    read = builder.load(_at(builder, weights, here, size, kept), align=size)
    if kept is _HALVES:
        return builder.fpext(read, _FLOATS)
    return builder.sitofp(builder.sext(read, _WHOLE), _FLOATS)


def _product_by(kept: ir.VectorType) -> Callable[..., None]:
    """The product of as many rows as one tile takes, by weights that are `kept` so."""
    one, two, three, six = (_tile(rows, kept) for rows in (1, 2, 3, 6))

    @compiled
    def product(x: Any, first: int, rows: int, weights: Any, sums: Any) -> None:
        inputs, count = x[first:].ctypes.data, x.shape[1]
        if rows == 1:
            one(weights.ctypes.data, inputs, count, count, sums.ctypes.data)
        elif rows == 2:
            two(weights.ctypes.data, inputs, count, count, sums.ctypes.data)
        elif rows == 3:
            three(weights.ctypes.data, inputs, count, count, sums.ctypes.data)
        else:
            six(weights.ctypes.data, inputs, count, count, sums.ctypes.data)

    return product


by_halves, by_bytes = _product_by(_HALVES), _product_by(_BYTES)
"""`rows` of `x` `[row, in]`, from the `first` on, by `weights` `[in, 64]`, into `sums` `[row, 64]`.

So many rows as `rows_of_next` says, and inputs that are a multiple of 4.
"""


@compiled
def rows_of_next(left: int) -> int:
    """How many of the rows that are `left` the next tile takes."""
    return 6 if left >= 6 else 3 if left >= 3 else left
