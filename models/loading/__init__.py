"""Load a checkpoint of the registry into a model in memory."""

from collections.abc import Callable
from importlib import import_module

from models.cancellation import LONGEST_LOAD_S, BoundedLock

Progress = Callable[[float, str], None]
"""A callback for the share of a download that is done, from 0 to 1, and a message that says what is happening."""

_LOOKS = ("torch", "transformers", "models.engine.pytorch")
"""The modules that looks inside a model need, and answers by OpenVINO do not."""

_importing = BoundedLock(LONGEST_LOAD_S)


def silent(_fraction: float, _message: str) -> None:
    """The `Progress` of callers that show none."""


def import_looks() -> None:
    """Import the libraries that looks inside a model need, unless that was done before.

    Modules of transformers import each other, so two threads that import some of them at the same time may see a module
    half initialised. Call this before any such import.
    """
    with _importing:
        for name in _LOOKS:
            import_module(name)
