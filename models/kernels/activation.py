"""GELU of a tile's numbers (Hendrycks & Gimpel, 2016), 16 at once and without a division.

For a standard normal `X` it is `x P(X <= x) = max(x, 0) - |x| P(X > |x|)`. What is taken away is read off polynomials,
one for each sixteenth of the numbers up to 6, beyond which it is less than a hundred-millionth: a register holds the
coefficients of one power of all of them.
"""

from math import erfc, sqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.kernels.language import instruction
from models.kernels.layout import OUTPUTS

_PIECES = 16
_DEGREE = 5
_END = 6.0
_FLOATS, _WHOLE = ir.VectorType(ir.FloatType(), _PIECES), ir.VectorType(ir.IntType(32), _PIECES)


def _coefficients() -> list[list[float]]:
    """For each power, from 0 on, those of all pieces; within one its variable goes from 0 to 1."""
    # Where Chebyshev's polynomial of one degree more is 0, an interpolation is nearly as near as can be.
    places = (1 + np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))) / 2
    found = []
    for piece in range(_PIECES):
        sizes = (piece + places) * _END / _PIECES
        values = [size * erfc(size / sqrt(2)) / 2 for size in sizes]
        found.append(np.polynomial.Polynomial.fit(places, values, _DEGREE, domain=[0, 1], window=[0, 1]).coef)
    return [[float(np.float32(each)) for each in power] for power in np.array(found).T]


_OF_EACH_POWER = _coefficients()


def _everywhere(number: float) -> Any:
    return _FLOATS([number] * _PIECES)


def _gelu(builder: Any, x: Any) -> Any:
    """Of one register."""

    def of_llvm(name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [each.type for each in arguments])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

    size = builder.fmul(of_llvm("llvm.fabs.v16f32", _FLOATS, x), _everywhere(_PIECES / _END))
    last = _everywhere(float(np.nextafter(np.float32(_PIECES), np.float32(0))))
    size = builder.select(builder.fcmp_ordered("<", size, last), size, last)
    piece = builder.fptosi(size, _WHOLE)
    within = builder.fsub(size, builder.sitofp(piece, _FLOATS))
    found = None
    for power in reversed(_OF_EACH_POWER):
        own = of_llvm("llvm.x86.avx512.permvar.sf.512", _FLOATS, _FLOATS(power), piece)
        found = own if found is None else of_llvm("llvm.fma.v16f32", _FLOATS, found, within, own)
    # What is not a number stays so.
    above = builder.select(builder.fcmp_ordered("<", x, _everywhere(0.0)), _everywhere(0.0), x)
    return builder.fsub(above, found)


def _activate(builder: Any, sums: Any, biases: Any) -> None:
    for first in range(0, OUTPUTS, _PIECES):

        def at(address: Any, first: int = first) -> Any:
            return builder.inttoptr(builder.add(address, ir.IntType(64)(4 * first)), _FLOATS.as_pointer())

        x = builder.fadd(builder.load(at(sums), align=4), builder.load(at(biases), align=4))
        builder.store(_gelu(builder, x), at(sums), align=4)


activate = instruction(types.void(types.uintp, types.uintp), _activate)
"""Let 64 sums at an address, with 64 biases at another one added, be what GELU makes of them."""
