"""What looks inside need of other libraries, imported by one thread at a time."""

from importlib import import_module

from models.cancellation import LONGEST_LOAD_S, BoundedLock

_MODULES = ("torch", "transformers", "models.engine.pytorch", "models.loading.network", "models.tasks.attention")
_importing = BoundedLock(LONGEST_LOAD_S)


def import_looks() -> None:
    """Import torch, transformers and what is used of them, where that was not done yet.

    Their modules import each other, so two threads that import some of them at the same time may see half of one.
    """
    with _importing:
        for name in _MODULES:
            import_module(name)
