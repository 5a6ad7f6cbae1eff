"""What Numba makes of plain functions, and operations that its language lacks, in instructions of LLVM."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeVar

import numba
from numba.extending import intrinsic

from models.kernels.processor import FEATURES

Function = TypeVar("Function", bound=Callable[..., Any])

_MAY_REORDER = {"reassoc", "contract", "nsz"}
"""Sums may be added up in any order. What is not a number stays so."""

numba.config.CPU_FEATURES = FEATURES  # type: ignore[attr-defined]


def compiled(function: Function) -> Function:
    """`function` as machine code that lets other threads run Python; made when it is first called."""
    made: Any = numba.njit(nogil=True, error_model="numpy", fastmath=_MAY_REORDER)(function)
    found: Function = made
    return found


def instruction(signature: Any, write: Callable[..., Any]) -> Callable[..., Any]:
    """An operation with a `signature` of Numba's types; `write` is given LLVM's builder and the arguments' values.

    It gives back the value, or nothing.
    """

    def typed(_context: Any, *_kinds: Any) -> Any:
        def written(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = write(builder, *arguments)
            return context.get_dummy_value() if value is None else value

        return signature, written

    # Numba wants to know each argument by a name.
    names = ("context", *(f"argument{number}" for number in range(len(signature.args))))
    typed.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])  # type: ignore[attr-defined]
    made: Callable[..., Any] = intrinsic(typed)
    return made
