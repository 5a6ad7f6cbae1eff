"""Counts at an address, that several threads change.

See LLVM's "Atomic Memory Ordering Constraints" (https://llvm.org/docs/LangRef.html).
"""

from typing import Any

from llvmlite import ir
from numba import types

from models.kernels.language import instruction

_COUNT = ir.IntType(64)


def _at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _COUNT.as_pointer())


def _count(builder: Any, address: Any) -> Any:
    return builder.load_atomic(_at(builder, address), "acquire", 8)


def _set(builder: Any, address: Any, count: Any) -> None:
    builder.store_atomic(count, _at(builder, address), "release", 8)


def _add_one(builder: Any, address: Any) -> Any:
    return builder.atomic_rmw("add", _at(builder, address), _COUNT(1), "acq_rel")


def _exchanged(builder: Any, address: Any, before: Any, after: Any) -> Any:
    both = builder.cmpxchg(_at(builder, address), before, after, "acq_rel", "acquire")
    return builder.extract_value(both, 1)


count_at = instruction(types.int64(types.uintp), _count)
"""The count at an address; whatever was written before it was set can be read behind this."""

set_count = instruction(types.void(types.uintp, types.int64), _set)
"""Set the count at an address, for threads that are to see all that was written before."""

add_one = instruction(types.int64(types.uintp), _add_one)
"""Count one more at an address; the count before."""

exchanged = instruction(types.boolean(types.uintp, types.int64, types.int64), _exchanged)
"""Set the count at an address from one value to another; whether it had the first."""
