"""What looks inside need of other libraries, imported by one thread at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TypeVar

from models.cancellation import LONGEST_LOAD_S, BoundedLock

_MODULES = ("torch", "transformers", "models.engine.pytorch", "models.loading.network", "models.tasks.attention")
_importing = BoundedLock(LONGEST_LOAD_S)
Result = TypeVar("Result")


def import_looks() -> None:
    """Import torch, transformers and what is used of them, where that was not done yet.

    Their modules import each other, so two threads that import some of them at the same time may see half of one.
    """
    with _importing:
        apart(lambda: [import_module(name) for name in _MODULES])


def apart(work: Callable[[], Result]) -> Result:
    """What `work` returns or raises, run in a thread of its own.

    Libraries keep exceptions that they meet while they are imported, and with each the frames of its callers: in the
    thread of a visitor these would hold the visitor's text for good.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
