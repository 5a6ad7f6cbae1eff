"""A few rows times a tile of outputs' weights, the sums kept in registers: what all of a pass's products are made of.

Weights lie as `[input, output]`, so that they come from memory in the order in which they are needed, once for all
rows.
"""

from collections.abc import Callable
from functools import reduce
from itertools import chain
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.kernels.language import compiled, instruction
from models.kernels.layout import MOST_ROWS, OUTPUTS

_LANES = 16
_FLOATS = ir.VectorType(ir.FloatType(), _LANES)
_HALVES = ir.VectorType(ir.HalfType(), _LANES)
_BYTES = ir.VectorType(ir.IntType(8), _LANES)
_WHOLE = ir.VectorType(ir.IntType(32), _LANES)
_INDEX, _PLACE = ir.IntType(64), ir.IntType(32)

FEW = OUTPUTS // 2
"""The outputs of a narrow tile."""

FETCHED = 64
"""Bytes that are fetched at once, for each step of a product."""

_SECOND_CACHE = 2
"""How near they are wanted, as LLVM counts: 3 is the nearest."""


class _Floats:
    """Weights, inputs and sums in float32."""

    inputs, size, number = 1, 4, ir.FloatType()
    """How many inputs are multiplied at once; of how many bytes each is; and what is read of a row for them."""

    weight_size = 4

    sums: ir.Type = _FLOATS
    """Registers in which products are added up."""

    def weights(self, builder: Any, at: Any) -> Any:
        """One register of weights."""
        return builder.load(at(_FLOATS), align=4)

    def added(self, builder: Any, weight: Any, number: Any, total: Any) -> Any:
        """The `total` with a product added."""
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{_LANES}f32")
        return builder.call(fused, [weight, number, total])


class _Halves(_Floats):
    """Weights in float16."""

    weight_size = 2

    def weights(self, builder: Any, at: Any) -> Any:
        return builder.fpext(builder.load(at(_HALVES), align=2), _FLOATS)


class _Bytes(_Floats):
    """Weights as whole numbers of 8 bits, by whose scale somebody multiplies afterwards."""

    weight_size = 1

    def weights(self, builder: Any, at: Any) -> Any:
        return builder.sitofp(builder.sext(builder.load(at(_BYTES), align=1), _WHOLE), _FLOATS)


class _Pairs(_Floats):
    """Weights and inputs in bfloat16: two inputs at once, whose weights for an output stand side by side."""

    inputs, size, number = 2, 2, ir.IntType(32)
    weight_size = 2

    def weights(self, builder: Any, at: Any) -> Any:
        return builder.load(at(_WHOLE), align=2)

    def added(self, builder: Any, weight: Any, number: Any, total: Any) -> Any:
        kind = ir.FunctionType(_FLOATS, [_FLOATS, _WHOLE, _WHOLE])
        name = "llvm.x86.avx512bf16.dpbf16ps.512"
        dot = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(dot, [total, number, weight])


class _Whole(_Pairs):
    """Weights and inputs as whole numbers of 16 bits, two at once, whose products are added up exactly."""

    sums = _WHOLE

    def added(self, builder: Any, weight: Any, number: Any, total: Any) -> Any:
        kind = ir.FunctionType(_WHOLE, [_WHOLE] * 3)
        dot = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpwssd.512")
        return builder.call(dot, [total, number, weight])


def _tile(kept: _Floats, rows: int, outputs: int, steps: int) -> Callable[..., Any]:
    """The product of so many `rows` by a tile of so many `outputs` whose weights are `kept` so.

    It takes the addresses of the weights and of the inputs, how many numbers one row of inputs is behind the other, the
    number of inputs, the address of the sums and how many numbers one row of these is behind the other, and an address
    from which on memory is fetched meanwhile, 64 bytes for each step. Sums are made in as many parts as there are
    `steps`.

    Sums of whole numbers are added to what is there, each row's times a factor, the first of which is at one more
    address and the others in as many bytes behind each other as the inputs are.
    """
    registers = outputs // _LANES

    def added(builder: Any, weights: Any, inputs: Any, stride: Any, first: Any, sets: Any) -> list[list[Any]]:
        """The sums of all rows, `sets` of registers, with the `first` inputs from there on multiplied and added."""
        read = []
        for register in range(registers):
            place = builder.add(builder.mul(first, _INDEX(outputs)), _INDEX(register * _LANES * kept.inputs))
            read.append(kept.weights(builder, _pointer(builder, weights, place, kept.weight_size)))
        found = []
        for row, totals in enumerate(sets):
            here = builder.add(builder.mul(_INDEX(row), stride), first)
            at = _pointer(builder, inputs, here, kept.size)
            number = _everywhere(builder, builder.load(at(kept.number), align=kept.size), kept.number)
            found.append(
                [kept.added(builder, weight, number, total) for weight, total in zip(read, totals, strict=True)]
            )
        return found

    def write(
        builder: Any,
        weights: Any,
        inputs: Any,
        stride: Any,
        count: Any,
        sums: Any,
        apart: Any,
        ahead: Any,
        *factors: Any,
    ) -> None:
        before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("loop", "after"))
        builder.branch(loop)
        builder.position_at_end(loop)
        first = builder.phi(_INDEX)
        # For each step and row, the registers of its sums.
        sets = [[builder.phi(kept.sums) for _ in range(registers)] for _ in range(steps * rows)]
        _fetch(builder, builder.add(ahead, builder.mul(first, _INDEX(FETCHED // kept.inputs // steps))))
        greater = []
        for step in range(steps):
            here = builder.add(first, _INDEX(step * kept.inputs))
            greater += added(builder, weights, inputs, stride, here, sets[step * rows :][:rows])
        following = builder.add(first, _INDEX(steps * kept.inputs))
        builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
        first.add_incoming(_INDEX(0), before)
        first.add_incoming(following, loop)
        for total, new in zip(chain(*sets), chain(*greater), strict=True):
            total.add_incoming(kept.sums(None), before)
            total.add_incoming(new, loop)
        builder.position_at_end(after)
        for row in range(rows):
            for register in range(registers):
                parts = [new[register] for new in greater[row::rows]]
                place = builder.add(builder.mul(apart, _INDEX(row)), _INDEX(register * _LANES))
                at = _pointer(builder, sums, place, 4)(_FLOATS)
                if factors:
                    own = _pointer(builder, factors[0], builder.mul(_INDEX(row), stride), kept.size)(ir.FloatType())
                    factor = _everywhere(builder, builder.load(own, align=2), ir.FloatType())
                    exact = builder.sitofp(*parts, _FLOATS)
                    found = _Floats().added(builder, exact, factor, builder.load(at, align=4))
                else:
                    found = reduce(builder.fadd, parts)
                builder.store(found, at, align=4)

    places = [types.uintp, types.uintp, types.intp, types.intp, types.uintp, types.intp, types.uintp]
    if kept.sums is _WHOLE:
        places.append(types.uintp)
    return instruction(types.void(*places), write)


def _pointer(builder: Any, address: Any, place: Any, size: int) -> Callable[[Any], Any]:
    """A pointer of a kind to what is at a `place` behind an `address`, counted in numbers of so many bytes."""
    there = builder.add(address, builder.mul(place, _INDEX(size)))
    return lambda kind: builder.inttoptr(there, kind.as_pointer())


def _fetch(builder: Any, address: Any) -> None:
    """Let the processor begin to fetch what is at an address; it is no error if nothing is."""
    bytes_of = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [bytes_of, *[_PLACE] * 3])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(fetch, [builder.inttoptr(address, bytes_of), _PLACE(0), _PLACE(_SECOND_CACHE), _PLACE(1)])


def _everywhere(builder: Any, number: Any, kind: ir.Type) -> Any:
    """A `number` of a `kind` in all lanes of a register."""
    nothing = ir.VectorType(kind, _LANES)(ir.Undefined)
    alone = builder.insert_element(nothing, number, _PLACE(0))
    return builder.shuffle_vector(alone, nothing, _WHOLE([0] * _LANES))


def _product_by(kept: _Floats, outputs: int, in_flight: int) -> Callable[..., None]:
    """The product of as many rows as one tile takes, by weights that are `kept` so.

    Each addition waits for the one before it, so that with fewer rows than are `in_flight` more sums are made, of
    parts; where all rows are to be added up in the same order, however many are, it is 1.
    """
    one, two, three, four, five, six = (
        _tile(kept, rows, outputs, max(1, in_flight // rows)) for rows in range(1, MOST_ROWS + 1)
    )

    @compiled
    def product(
        inputs: int, stride: int, count: int, rows: int, weights: int, sums: int, apart: int, ahead: int, *factors: int
    ) -> None:
        if rows == 1:
            one(weights, inputs, stride, count, sums, apart, ahead, *factors)
        elif rows == 2:
            two(weights, inputs, stride, count, sums, apart, ahead, *factors)
        elif rows == 3:
            three(weights, inputs, stride, count, sums, apart, ahead, *factors)
        elif rows == 4:
            four(weights, inputs, stride, count, sums, apart, ahead, *factors)
        elif rows == 5:
            five(weights, inputs, stride, count, sums, apart, ahead, *factors)
        else:
            six(weights, inputs, stride, count, sums, apart, ahead, *factors)

    return product


by_halves, by_bytes = (_product_by(kept, OUTPUTS, 4) for kept in (_Halves(), _Bytes()))
"""`rows` of `inputs`, each of which is so many numbers (`stride`) behind the other, by weights `[in, 64]`, into `sums`.

All three are addresses. There are as many inputs as `count`, a multiple of 4, and so many rows as `rows_of_next` says;
`sums` are float32 `[row, 64]`, each row so many numbers `apart` from the one before it. Meanwhile memory is fetched
from `ahead` on.
"""

by_pairs, by_floats = (_product_by(kept, OUTPUTS, 1) for kept in (_Pairs(), _Floats()))
"""The same, and each row's sums are alike to the last bit however many rows there are."""

by_whole = _product_by(_Whole(), OUTPUTS, 1)
"""The same; a row's sums are multiplied by a factor of its own and added to what is there.

The first factor, a float32, is at one more address, and each other one as many numbers of 16 bits behind the one before
it as the rows of `inputs` are.
"""

by_few_pairs, by_few_floats = (_product_by(kept, FEW, 1) for kept in (_Pairs(), _Floats()))
"""The same for tiles of 32 outputs."""


@compiled
def rows_of_next(left: int) -> int:
    """How many of the rows that are `left` the next tile takes: a tile of few rows waits for its weights."""
    if left <= MOST_ROWS:
        return left
    return MOST_ROWS if left >= MOST_ROWS + 3 else (left + 1) // 2
