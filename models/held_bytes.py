"""How much memory the numbers of a loaded model take: its parameters and every other copy of them that it keeps."""

from array import array
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.layout import LaidOut
from models.near_products import InFloat16


def held_bytes(model: object) -> int:
    """The bytes of all tensors and arrays that can be reached from `model`; what several share counts once.

    That is more than its parameters: layers keep their weights a second time, in the order or the precision in which
    they are multiplied.
    """
    sizes: dict[int, int] = {}
    seen: dict[int, object] = {}
    waiting: list[object] = [model]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        # Kept, so that no other object gets its id meanwhile.
        seen[id(each)] = each
        for place, size in _own(each):
            sizes[place] = max(size, sizes.get(place, 0))
        waiting.extend(_parts(each))
    return sum(sizes.values())


def _own(each: Any) -> Iterator[tuple[int, int]]:
    """The address and the bytes of numbers that `each` holds itself."""
    if isinstance(each, Tensor):
        if each.layout is torch._mkldnn:  # type: ignore[attr-defined]
            yield id(each), each.numel() * each.element_size()
        else:
            yield each.untyped_storage().data_ptr(), each.untyped_storage().nbytes()
    elif isinstance(each, np.ndarray):
        while isinstance(each.base, np.ndarray):
            each = each.base
        yield each.ctypes.data, each.nbytes
    elif isinstance(each, array):
        yield each.buffer_info()[0], len(each) * each.itemsize
    elif isinstance(each, LaidOut | InFloat16) and each.is_opaque:
        yield id(each), each.bytes


def _parts(each: Any) -> Iterator[object]:
    """What `each` consists of, classes, modules and functions aside."""
    if isinstance(each, dict):
        yield from each.values()
    elif isinstance(each, list | tuple | set | frozenset):
        yield from each
    elif isinstance(each, partial):
        yield from (each.func, *each.args, *each.keywords.values())
    elif isinstance(each, MethodType):
        yield each.__self__
    elif not isinstance(each, type | ModuleType | FunctionType | Tensor | np.ndarray):
        yield from vars(each).values() if hasattr(each, "__dict__") else ()
