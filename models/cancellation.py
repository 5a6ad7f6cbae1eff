"""Cancellation: a long computation asks before each forward pass whether anyone still waits for its answer.

The answer comes from outside (a page that was closed, a button) and is wanted deep inside a loop, hence a context
variable, as for a deadline, rather than a parameter of every function in between. Locks are waited for with a bound.
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
    """Stop what this thread computes inside as soon as `wanted` says no, or what is around it does.

    A generator must not yield inside: each of its steps may run in another context.
    """
    around = _wanted.get()
    token = _wanted.set(wanted if around is None else lambda: around() and wanted())
    try:
        yield
    finally:
        _wanted.reset(token)


def go_on() -> None:
    """Raise `Stopped` where nobody waits any more."""
    wanted = _wanted.get()
    if wanted is not None and not wanted():
        raise Stopped


ASK_EVERY_S = 0.5
"""How often a caller who waits asks whether anyone still wants the answer."""

LONGEST_PASS_S = 120.0
"""How long a network may be busy with one pass. The longest text on the slowest processor takes a few seconds."""

LONGEST_LOAD_S = 900.0
"""How long a checkpoint may take to download and to load."""


class BoundedLock:
    """A reentrant lock: `with` raises `Overdue` after `longest_s`, and `Stopped` once nobody wants the answer."""

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
