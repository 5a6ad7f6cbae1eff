"""Cancellation: a long computation checks before each forward pass whether a caller still waits for its answer.

A closed page or a button cancels a run from outside, and the check sits deep inside a loop: hence a context variable,
as for a deadline, rather than a parameter of every function in between. Waiting for a lock is bounded.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from models.errors import Overdue, Stopped

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("wanted", default=None)


@contextmanager
def only_while(wanted: Callable[[], bool]) -> Iterator[None]:
    """Cancel this thread's computation inside as soon as `wanted`, or that of an enclosing `only_while`, returns false.

    A generator must not yield inside: each of its steps may run in another context.
    """
    around = _wanted.get()
    token = _wanted.set(wanted if around is None else lambda: around() and wanted())
    try:
        yield
    finally:
        _wanted.reset(token)


def go_on() -> None:
    """Raise `Stopped` if no caller waits for the answer any more."""
    wanted = _wanted.get()
    if wanted is not None and not wanted():
        raise Stopped


ASK_EVERY_S = 0.5
"""Seconds between two checks for cancellation while a caller waits."""

LONGEST_PASS_S = 120.0
"""The most seconds to wait for a busy network. The longest text takes a few seconds on the slowest processor."""

LONGEST_LOAD_S = 900.0
"""The most seconds to wait while a checkpoint is downloaded and loaded."""


class BoundedLock:
    """A reentrant lock: `with` raises `Overdue` after waiting `longest_s` seconds, and `Stopped` on cancellation."""

    def __init__(self, longest_s: float = LONGEST_PASS_S) -> None:
        self._lock, self._longest_s = threading.RLock(), longest_s

    def __enter__(self) -> None:
        ends_s = time.monotonic() + self._longest_s
        while not self._lock.acquire(timeout=min(ASK_EVERY_S, self._longest_s)):
            go_on()
            if time.monotonic() >= ends_s:
                raise Overdue

    def __exit__(self, *_: object) -> None:
        self._lock.release()
