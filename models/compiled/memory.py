"""Numbers at an address, and counts that several threads change.

See LLVM's "Atomic Memory Ordering Constraints" (https://llvm.org/docs/LangRef.html).
"""

from typing import Any

from llvmlite import ir
from numba import types

from models.compiled.compiler import instruction

_COUNT = ir.IntType(64)


def _at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _COUNT.as_pointer())


def _floats(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.FloatType().as_pointer())


def _count(builder: Any, address: Any) -> Any:
    return builder.load_atomic(_at(builder, address), "acquire", 8)


def _set(builder: Any, address: Any, count: Any) -> None:
    builder.store_atomic(count, _at(builder, address), "release", 8)


def _add_one(builder: Any, address: Any) -> Any:
    return builder.atomic_rmw("add", _at(builder, address), _COUNT(1), "acq_rel")


floats_at = instruction(types.CPointer(types.float32)(types.uintp), _floats)  # type: ignore[no-untyped-call]
"""A pointer to the float32 numbers at an address, for `numba.carray`."""

count_at = instruction(types.int64(types.uintp), _count)
"""The count at an address; whatever was written before it was set can be read behind this."""

set_count = instruction(types.void(types.uintp, types.int64), _set)
"""Set the count at an address, for threads that are to see all that was written before."""

add_one = instruction(types.int64(types.uintp), _add_one)
"""Count one more at an address; the count before."""
