"""Functions of single numbers and of vectors, written so that LLVM makes 16 numbers' operations at once of them."""

from math import factorial, log, sqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from models.compiled.compiler import compiled, instruction

_BITS_OF_ONE, _FRACTION = 127, 23
"""The exponent of 1, and how many bits stand behind an exponent (IEEE 754, binary32)."""

_LOWEST, _HIGHEST = np.float32(-87), np.float32(87)
"""Powers of e that float32 can hold; what lies beyond is as good as 0, or as large as can be."""

_TERMS = tuple(np.float32(1 / factorial(power)) for power in range(8))
_LOG_2_ABOVE = np.float32(0.693359375)
_LOG_2_BELOW = np.float32(log(2) - 0.693359375)
"""The first has so few bits that a whole number times it is exact."""


def _as_float(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, ir.FloatType())


_float_of = instruction(types.float32(types.int32), _as_float)


@compiled
def exponential(x: np.float32) -> np.float32:
    """e to the power of `x`: Taylor's series for what is left of it behind the next power of 2, to 7 decimal places."""
    x = min(max(x, _LOWEST), _HIGHEST)
    # Rounded by cutting off, which needs a number above 0.
    power = np.int32(x * np.float32(1 / log(2)) + np.float32(_BITS_OF_ONE + 0.5)) - np.int32(_BITS_OF_ONE)
    left = x - np.float32(power) * _LOG_2_ABOVE - np.float32(power) * _LOG_2_BELOW
    found = _TERMS[7]
    found = found * left + _TERMS[6]
    found = found * left + _TERMS[5]
    found = found * left + _TERMS[4]
    found = found * left + _TERMS[3]
    found = found * left + _TERMS[2]
    found = found * left + _TERMS[1]
    found = found * left + _TERMS[0]
    return found * np.float32(_float_of(np.int32((power + np.int32(_BITS_OF_ONE)) << np.int32(_FRACTION))))


@compiled
def gelu(x: np.float32) -> np.float32:
    """Hendrycks & Gimpel, 2016, by the hyperbolic tangent, which is written here as a logistic function."""
    inner = np.float32(2 * sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
    return x / (np.float32(1) + exponential(-inner))


@compiled
def norm(x: Any, factors: Any, biases: Any, epsilon: float, normed: Any) -> None:
    """`x` `[width]` with mean 0 and variance 1, times `factors`, and `biases` (Ba et al., 2016)."""
    width = len(x)
    mean = np.float32(0)
    for i in range(width):
        mean += x[i]
    mean /= np.float32(width)
    variance = np.float32(0)
    for i in range(width):
        variance += (x[i] - mean) * (x[i] - mean)
    scale = np.float32(1 / sqrt(variance / width + epsilon))
    for i in range(width):
        normed[i] = (x[i] - mean) * scale * factors[i] + biases[i]
