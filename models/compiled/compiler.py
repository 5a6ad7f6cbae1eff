"""What Numba makes of plain functions, and operations that its language lacks, in instructions of LLVM."""

import hashlib
import os
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import binding
from numba.extending import intrinsic
from platformdirs import user_cache_path

Function = TypeVar("Function", bound=Callable[..., Any])

_MAY_REORDER = {"reassoc", "contract", "nsz"}
"""Sums may be added up in any order. What is not a number stays so."""


def _folder() -> Path | None:
    """Where machine code is kept, apart for every state of the code that it was made from; if anything can be."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    folder = user_cache_path("clearhead") / "compiled" / hashlib.sha256(sources).hexdigest()[:12]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


_KEPT = _folder()

# Numba itself would take code as made from the same that another module of this package calls differently now.
numba.config.CACHE_DIR = str(_KEPT or "")  # type: ignore[attr-defined]

# On some processors LLVM takes registers of 8 numbers, of which tiles would need twice as many as there are.
numba.config.CPU_FEATURES = f"{binding.get_host_cpu_features().flatten()},-prefer-256-bit"  # type: ignore[attr-defined]


def compiled(function: Function) -> Function:
    """`function` as machine code that lets other threads run Python; made when it is first called."""
    made: Any = numba.njit(nogil=True, error_model="numpy", fastmath=_MAY_REORDER)(function)
    found: Function = made
    return found


def entry(function: Function) -> Function:
    """The same for what Python calls, with all that it calls itself; kept on disk for the next process."""
    made: Any = compiled(function)
    if _KEPT:
        made.enable_caching()
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
