"""torch and transformers imported without what they bring for clusters and for compilers, which nothing here uses.

More than half of the time until a fresh process had its first model went into importing that.
"""

import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from models.cancellation import LONGEST_LOAD_S, BoundedLock

_COMPILER = "torch._dynamo"
_MASKS = f"{_COMPILER}._trace_wrapped_higher_order_op"
_MARKS = ("allow_in_graph", "assume_constant_result")
_PARTS = ("is_torch_distributed_available", "is_torch_flex_attn_available")
_MODELS = "models."

_one_at_a_time = BoundedLock(LONGEST_LOAD_S)


def import_networks() -> None:
    """Import all that loads and wraps a network, once; safe to call from many threads."""
    with _one_at_a_time:
        if "models.loading.assembly" not in sys.modules:
            with _made_to_stay(), lightly():
                importlib.import_module("models.loading.assembly")


def import_beside() -> None:
    """Begin to import it in a thread of its own; what fails there is tried again, and told, when a model is wanted."""

    def begin() -> None:
        with suppress(Exception):
            import_networks()

    threading.Thread(target=begin, name="import networks", daemon=True).start()


@contextmanager
def lightly() -> Iterator[None]:
    """While networks are imported and built: nothing is there for clusters, and marks for compilers mark nothing.

    All stays as it is where another part of the process has imported these already, or is one of a cluster.
    """
    with _one_at_a_time:
        if _COMPILER in sys.modules or "WORLD_SIZE" in os.environ:
            yield
            return
        importlib.import_module("torch")
        if "transformers.modeling_utils" not in sys.modules:
            _leave_out_parts()
            _list_models_once()
        sys.modules.update({_COMPILER: _Compiler(_COMPILER), _MASKS: _Masks(_MASKS)})
        try:
            yield
        finally:
            _step_aside()


@contextmanager
def _made_to_stay() -> Iterator[None]:
    """What is made meanwhile stays as long as the process: no search for rubbish in it, neither now nor later."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if searching:
            gc.enable()


def _leave_out_parts() -> None:
    """Have transformers answer itself that the parts for clusters and compilers are not installed."""
    import torch.distributed
    from transformers import utils
    from transformers.utils import import_utils

    for module in (utils, import_utils):
        for part in _PARTS:
            setattr(module, part, _no)
    if not hasattr(torch.distributed, "__getattr__"):
        # PEFT asks for one of them, and takes for granted that transformers has imported it.
        torch.distributed.__getattr__ = _distributed_tensor  # type: ignore[method-assign]


def _list_models_once() -> None:
    """Have `transformers.models` take over the list for which `transformers` has just read 1,700 files."""
    import transformers
    from transformers.utils import import_utils

    known: Any = transformers
    asked: Any = import_utils
    read = asked.define_import_structure
    ours = Path(known.__path__[0], "models", "__init__.py")
    lacking = known._object_missing_backend
    if not all(isinstance(each, str) for lacks in lacking.values() for each in lacks):
        return

    def listed(path: str, prefix: str | None = None) -> dict[frozenset[str], dict[str, set[str]]]:
        if Path(path) != ours or prefix is not None:
            structure: dict[frozenset[str], dict[str, set[str]]] = read(path, prefix)
            return structure
        asked.define_import_structure = read
        of_models: dict[frozenset[str], dict[str, set[str]]] = {}
        for module, offered in known._import_structure.items():
            if module.startswith(_MODELS):
                for each in offered:
                    group = of_models.setdefault(frozenset(lacking.get(each, ())), {})
                    group.setdefault(module.removeprefix(_MODELS), set()).add(each)
        return of_models

    asked.define_import_structure = listed


def _no() -> bool:
    return False


def _distributed_tensor(name: str) -> ModuleType:
    if name != "tensor":
        raise AttributeError(f"module 'torch.distributed' has no attribute {name!r}")
    return importlib.import_module("torch.distributed.tensor")


def _same(function: Any) -> Any:
    return function


def _step_aside() -> None:
    """Take what stands in out of the way, so that the next import finds what it stood for."""
    for name in (_COMPILER, _MASKS):
        if isinstance(sys.modules.get(name), _Compiler | _Masks):
            del sys.modules[name]


class _Compiler(ModuleType):
    """`torch._dynamo` to those who only mark functions for it; for anything else it is imported."""

    @staticmethod
    def disable(function: Any = None, *_how: Any, **_options: Any) -> Any:
        """The function itself: nothing compiles it."""
        return function or _same

    def __getattr__(self, name: str) -> Any:
        if name in _MARKS:
            return _same
        if name.startswith("__"):
            raise AttributeError(name)
        _step_aside()
        return getattr(importlib.import_module(_COMPILER), name)


class _Masks(ModuleType):
    """What transformers names when it is imported and few of its masks use: it is imported when one does."""

    @staticmethod
    def TransformGetItemToIndex() -> Any:  # noqa: N802
        """The real one."""
        return importlib.import_module(_MASKS).TransformGetItemToIndex()
