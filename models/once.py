"""What is made once for a process, whoever asks first and however many ask meanwhile."""

import threading
from collections.abc import Callable, Hashable
from functools import cache, update_wrapper
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Once(Generic[Made]):
    """A function that remembers what it made for each of its arguments, and makes it only once.

    `functools.cache` lets threads that ask at the same time each make their own, of which the last one is remembered:
    the others would go with whoever holds only an address in them. Here everybody else waits.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        self._remembered = cache(make)
        # What is made may ask again, by the same thread.
        self._turn = threading.RLock()
        update_wrapper(self, make)

    def __call__(self, *arguments: Hashable) -> Made:
        """What was made for these `arguments`, now or before; if making it fails, the next call tries again."""
        with self._turn:
            return self._remembered(*arguments)

    def forget(self) -> None:
        """Make everything anew from now on."""
        with self._turn:
            self._remembered.cache_clear()


def once(make: Callable[..., Made]) -> Once[Made]:
    """`make`, remembering what it made; safe to call from many threads."""
    return Once(make)
