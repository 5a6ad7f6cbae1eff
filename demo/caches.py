"""The one cache of what visitors typed and were told: bounded in bytes and in age, and emptied when they wish it.

An entry answers only the sessions it was made for: an answer that came at once for everybody would say that somebody
else had asked the same.
"""

import gc
import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from cachetools import Cache, LRUCache

from models.cancellation import go_on
from models.errors import InputError, Stopped

HELD_FOR_S = 3600.0
LONGEST_WAIT_S = 300.0
"""How long a caller waits for an equal question that another thread is already answering."""

TOO_LONG = "This took too long, so it was given up. Please try again in a minute."

_ASK_EVERY_S = 0.2
_OF_THE_PROGRAM = (type, ModuleType, FunctionType)

Made = TypeVar("Made")


@dataclass(frozen=True)
class Origin:
    """Where a text comes from: the sessions that may have it forgotten, the run it is of, and until when it may stay.

    `until` is in seconds since the epoch. A text of the page itself, such as a recorded example, has no sessions.
    """

    sessions: tuple[str, ...] = ()
    run_id: str = ""
    until: float = float("inf")

    def is_of(self, session: str, run_id: str = "") -> bool:
        """Whether it is a text of this session; with `run_id`, of this run."""
        return session in self.sessions and run_id in ("", self.run_id)


@dataclass(frozen=True, eq=False)
class _Entry:
    value: Any
    size: int
    until: float


_Key = tuple[tuple[str, ...], Hashable]


class SessionCache:
    """Values by session and key, the least recently used dropped when they exceed `max_bytes`.

    A value that exceeds it alone is not held. Safe to call from many threads.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: LRUCache[_Key, _Entry] = LRUCache(max_bytes, getsizeof=lambda entry: entry.size)
        self._flights: dict[_Key, Future[Any]] = {}
        self._lock = threading.Lock()

    def get(self, origin: Origin, key: Hashable) -> Any | None:
        """The value held under `key` for the sessions of `origin`; `None` where there is none."""
        with self._lock:
            return self._get((origin.sessions, key))

    def put(self, origin: Origin, key: Hashable, value: object) -> None:
        """Hold `value` for an hour at most, and no longer than `origin` may stay."""
        size = size_of((key, value))
        with self._lock:
            self._put((origin.sessions, key), value, size, origin.until)

    def get_or_make(self, origin: Origin, key: Hashable, make: Callable[[], Made]) -> Made:
        """The value held under `key`, or what `make` returns, called once for all threads that ask at the same time.

        What `make` raises is raised to all of them and not held, but for `Stopped`: then the next one makes it. Raises
        `InputError` after `LONGEST_WAIT_S` of waiting, and `Stopped` once this thread's own visitor has left.
        """
        full = origin.sessions, key
        while True:
            with self._lock:
                if (held := self._get(full)) is not None:
                    return cast(Made, held)
                flight = self._flights.get(full)
                if flight is None:
                    own: Future[Any] = Future()
                    self._flights[full] = own
            if flight is None:
                return self._make(full, own, origin.until, make)
            error = _outcome(flight)
            if error is None:
                return cast(Made, flight.result())
            if not isinstance(error, Stopped):
                raise error

    def forget(self, session: str) -> None:
        """Hold nothing of this session any more, nor what is being made for it now."""
        with self._lock:
            for key in [key for key in self._flights if session in key[0]]:
                del self._flights[key]
            for key in [key for key in self._entries if session in key[0]]:
                del self._entries[key]

    def forget_old(self) -> None:
        """Drop what has been held for its time."""
        with self._lock:
            now = self._clock()
            # Read as a plain cache: `LRUCache` would count looking at an entry as using it.
            for key in [key for key in self._entries if Cache.__getitem__(self._entries, key).until <= now]:
                del self._entries[key]

    def _make(self, key: _Key, flight: Future[Any], until: float, make: Callable[[], Made]) -> Made:
        try:
            made = make()
            size = size_of((key, made))
        except BaseException as error:
            with self._lock:
                self._land(key, flight)
            flight.set_exception(error)
            raise
        with self._lock:
            # What was forgotten meanwhile has no flight any more.
            if self._land(key, flight):
                self._put(key, made, size, until)
        flight.set_result(made)
        return made

    def _land(self, key: _Key, flight: Future[Any]) -> bool:
        """End a flight; says whether it was still wanted."""
        if self._flights.get(key) is not flight:
            return False
        del self._flights[key]
        return True

    def _get(self, key: _Key) -> Any | None:
        entry = self._entries.get(key)
        return entry.value if entry is not None and self._clock() < entry.until else None

    def _put(self, key: _Key, value: object, size: int, until: float) -> None:
        self._entries.pop(key, None)
        until = min(until, self._clock() + HELD_FOR_S)
        if size <= self._entries.maxsize and self._clock() < until:
            self._entries[key] = _Entry(value, size, until)


def size_of(value: object) -> int:
    """The bytes of `value` and all that it refers to, arrays included, classes and code left out."""
    found, seen, todo = 0, set(), [value]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, _OF_THE_PROGRAM):
            continue
        seen.add(id(each))
        # A view of an array counts as one of its own: it may be all that keeps the memory.
        found += each.nbytes if isinstance(each, np.ndarray) else sys.getsizeof(each)
        todo += gc.get_referents(each)
    return found


def _outcome(flight: Future[Any]) -> BaseException | None:
    """The error that a flight of another thread ends with, `None` if it ends well; raises as `get_or_make` does."""
    ends = time.monotonic() + LONGEST_WAIT_S
    while True:
        try:
            return flight.exception(timeout=_ASK_EVERY_S)
        except TimeoutError:
            go_on()
            if time.monotonic() >= ends:
                raise InputError(TOO_LONG) from None
