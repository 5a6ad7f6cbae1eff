"""What is made once for a process, whoever asks first and however many ask meanwhile."""

from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

from models.waiting import BoundedLock

Made = TypeVar("Made")


def once(make: Callable[..., Made]) -> Callable[..., Made]:
    """`make`, remembering what it made for each of its arguments; what fails is tried again by the next call.

    `functools.cache` lets threads that ask at the same time each make their own, of which the last one is remembered.
    The others are deleted, also for whoever holds an address in them. Here everybody else waits.
    """
    # What is made may ask again, by the same thread.
    remembered, turn = cache(make), BoundedLock()

    @wraps(make)
    def made(*arguments: Hashable) -> Made:
        with turn:
            return remembered(*arguments)

    return made
