"""Functions of single numbers and of vectors, written so that LLVM makes 16 numbers' operations at once of them."""

from collections.abc import Callable
from functools import partial
from math import factorial, log, sqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.kernels.language import compiled, instruction

_BITS, _INDEX = ir.IntType(32), ir.IntType(64)
_LANES = 16
_VECTOR = ir.VectorType(ir.FloatType(), _LANES)

_BITS_OF_ONE, _FRACTION = 127, 23
"""The exponent of 1, and how many bits stand behind an exponent (IEEE 754, binary32)."""

_LOWEST, _HIGHEST = np.float32(-87), np.float32(87)
"""Powers of e that float32 can hold; what lies beyond is as good as 0, or as large as can be."""

_TERMS = tuple(np.float32(1 / factorial(power)) for power in range(8))
_LOG_2_ABOVE = np.float32(0.693359375)
_LOG_2_BELOW = np.float32(log(2) - 0.693359375)
"""The first has so few bits that a whole number times it is exact."""


def _nearest(builder: Any, number: Any) -> Any:
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.rint.f32"), [number])


def _power_of_2(builder: Any, power: Any) -> Any:
    above = builder.add(builder.fptosi(power, _BITS), _BITS(_BITS_OF_ONE))
    return builder.bitcast(builder.shl(above, _BITS(_FRACTION)), ir.FloatType())


def _as_half(builder: Any, number: Any) -> Any:
    bits = builder.bitcast(number, _BITS)
    odd = builder.and_(builder.lshr(bits, _BITS(16)), _BITS(1))
    return builder.trunc(builder.lshr(builder.add(builder.add(bits, odd), _BITS(0x7FFF)), _BITS(16)), ir.IntType(16))


def _as_two(builder: Any, first: Any, second: Any) -> Any:
    low, high = (builder.zext(_as_half(builder, each), _BITS) for each in (first, second))
    return builder.or_(low, builder.shl(high, _BITS(16)))


def _as_whole(builder: Any, number: Any) -> Any:
    return builder.trunc(builder.fptosi(_nearest(builder, number), _BITS), ir.IntType(16))


# Numba would compute whole numbers in 64 bits, of which a register holds half as many.
_whole = instruction(types.float32(types.float32), _nearest)
_two_to_the = instruction(types.float32(types.float32), _power_of_2)

rounded = instruction(types.int16(types.float32), _as_half)
"""A number in bfloat16, to the nearest, and to the even one of two: the upper half of float32's bits."""

pair = instruction(types.int32(types.float32, types.float32), _as_two)
"""Two numbers in bfloat16 side by side, the first one in front."""

whole = instruction(types.int16(types.float32), _as_whole)
"""The nearest whole number, which 16 bits can hold."""


@compiled
def exponential(x: np.float32) -> Any:
    """e to the power of `x`: Taylor's series for what is left of it behind the next power of 2, to 7 decimal places."""
    x = min(max(x, _LOWEST), _HIGHEST)
    power = _whole(x * np.float32(1 / log(2)))
    left = x - power * _LOG_2_ABOVE - power * _LOG_2_BELOW
    found = _TERMS[7]
    found = found * left + _TERMS[6]
    found = found * left + _TERMS[5]
    found = found * left + _TERMS[4]
    found = found * left + _TERMS[3]
    found = found * left + _TERMS[2]
    found = found * left + _TERMS[1]
    found = found * left + _TERMS[0]
    return found * np.float32(_two_to_the(power))


@compiled
def gelu(x: np.float32) -> Any:
    """Hendrycks & Gimpel, 2016, by the hyperbolic tangent, which is written here as a logistic function."""
    inner = np.float32(2 * sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
    return x / (np.float32(1) + exponential(-inner))


@compiled
def _spread(x: Any, epsilon: float) -> tuple[np.float32, np.float32]:
    """The mean of `x`, and by what to divide so that its variance is 1: a factor."""
    width = len(x)
    mean = np.float32(0)
    for i in range(width):
        mean += x[i]
    mean /= np.float32(width)
    variance = np.float32(0)
    for i in range(width):
        variance += (x[i] - mean) * (x[i] - mean)
    return mean, np.float32(1 / sqrt(variance / width + epsilon))


@compiled
def norm(x: Any, factors: Any, biases: Any, epsilon: float, normed: Any) -> None:
    """`x` `[width]` with mean 0 and variance 1, times `factors`, and `biases` (Ba et al., 2016)."""
    mean, scale = _spread(x, epsilon)
    for i in range(len(x)):
        normed[i] = (x[i] - mean) * scale * factors[i] + biases[i]


@compiled
def norm_in_place(x: Any, factors: Any, biases: Any, epsilon: float) -> None:
    """The same, where `x` is not needed any more: LLVM must see that it is one row and not two."""
    mean, scale = _spread(x, epsilon)
    for i in range(len(x)):
        x[i] = (x[i] - mean) * scale * factors[i] + biases[i]


def _size(builder: Any, read: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fabs.v16f32"), [read])


def _largest(builder: Any, address: Any, count: Any, of: Callable[[Any, Any], Any] = lambda _, read: read) -> Any:
    """A loop over registers, since LLVM itself takes the largest one number at a time; `of` what is read."""
    before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("loop", "after"))
    builder.branch(loop)
    builder.position_at_end(loop)
    place, most = builder.phi(_INDEX), builder.phi(_VECTOR)
    at = builder.inttoptr(builder.add(address, builder.mul(place, _INDEX(4))), _VECTOR.as_pointer())
    read = of(builder, builder.load(at, align=4))
    greater = builder.select(builder.fcmp_ordered(">", read, most), read, most)
    following = builder.add(place, _INDEX(_LANES))
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    place.add_incoming(_INDEX(0), before)
    place.add_incoming(following, loop)
    most.add_incoming(_VECTOR([float("-inf")] * _LANES), before)
    most.add_incoming(greater, loop)
    builder.position_at_end(after)
    found = builder.extract_element(greater, _BITS(0))
    for lane in range(1, _LANES):
        other = builder.extract_element(greater, _BITS(lane))
        found = builder.select(builder.fcmp_ordered(">", other, found), other, found)
    return found


largest_at = instruction(types.float32(types.uintp, types.intp), _largest)
"""The largest of so many float32 numbers at an address, a multiple of 16."""


largest_size_at = instruction(types.float32(types.uintp, types.intp), partial(_largest, of=_size))
"""The largest absolute value of so many float32 numbers at an address, a multiple of 16."""
