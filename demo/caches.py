"""The one cache of visitors' texts and answers: bounded in bytes and in age, and emptied when they wish it.

An entry answers only the sessions it was made for: an instant answer for everybody would reveal that somebody else had
asked the same.
"""

import gc
import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from cachetools import TLRUCache

from models.cancellation import go_on
from models.errors import InputError, Stopped
from models.wording import Sentence

HELD_FOR_S = 3600.0
LONGEST_WAIT_S = 300.0
"""The longest wait of a caller for an equal question that another thread is already answering."""

TOO_LONG = Sentence("This took too long, so it was given up. Please try again in a minute.")

_ASK_EVERY_S = 0.2
_OF_THE_PROGRAM = (type, ModuleType, FunctionType)

Made = TypeVar("Made")


@dataclass(frozen=True)
class Origin:
    """The origin of a text: the sessions that may delete it, its run, when it was made and how long it may stay.

    `made` and `until` are in seconds since the epoch. A text of the page itself, such as a recorded example, has no
    sessions.
    """

    sessions: tuple[str, ...] = ()
    run_id: str = ""
    until: float = float("inf")
    made: float = 0.0


@dataclass(frozen=True, eq=False)
class _Entry:
    value: Any
    size: int
    until: float


_Key = tuple[tuple[str, ...], Hashable]


class SessionCache:
    """Values by session and key, the least recently used dropped when they exceed `max_bytes`.

    A value is held for an hour at most, and no longer than its origin may stay; one that exceeds `max_bytes` alone is
    not held. Safe to call from many threads.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        def until(_key: _Key, entry: _Entry, now: float) -> float:
            return min(entry.until, now + HELD_FOR_S)

        self._entries: TLRUCache[_Key, _Entry] = TLRUCache(max_bytes, until, clock, lambda entry: entry.size)
        self._flights: dict[_Key, Future[Any]] = {}
        self._lock = threading.Lock()

    def get(self, origin: Origin, key: Hashable) -> Any | None:
        """The value held under `key` for the sessions of `origin`; `None` where there is none."""
        with self._lock:
            return self._get((origin.sessions, key))

    def put(self, origin: Origin, key: Hashable, value: object) -> None:
        """Hold `value` under `key` for the sessions of `origin`."""
        entry = _Entry(value, size_of((key, value)), origin.until)
        with self._lock:
            self._put((origin.sessions, key), entry)

    def get_or_make(self, origin: Origin, key: Hashable, make: Callable[[], Made]) -> Made:
        """The value held under `key`, or what `make` returns, called once for all threads that ask at the same time.

        An error of `make` is raised in all of them and not held, except `Stopped`: then the next one makes the value.
        Raises `InputError` after `LONGEST_WAIT_S` of waiting, and `Stopped` once this thread's own visitor has left.
        """
        full, own = (origin.sessions, key), Future[Any]()
        while True:
            with self._lock:
                if (held := self._get(full)) is not None:
                    return cast(Made, held)
                flight = self._flights.setdefault(full, own)
            if flight is own:
                return self._make(full, own, origin.until, make)
            try:
                return cast(Made, _landed(flight))
            except Stopped:
                # The visitor of the other thread has left; this one's may have, too.
                go_on()

    def forget(self, is_meant: Callable[[str], bool]) -> None:
        """Drop the values of sessions for which `is_meant` is true, and do not hold what is being made for them now."""
        with self._lock:
            for held in (self._flights, self._entries):
                for key in [key for key in held if any(map(is_meant, key[0]))]:
                    held.pop(key, None)

    def forget_old(self) -> None:
        """Drop the values whose time is over."""
        with self._lock:
            self._entries.expire()

    def _make(self, key: _Key, flight: Future[Any], until: float, make: Callable[[], Made]) -> Made:
        try:
            made = make()
            size = size_of((key, made))
        except BaseException as error:
            self._land(key, flight)
            flight.set_exception(error)
            raise
        self._land(key, flight, _Entry(made, size, until))
        flight.set_result(made)
        return made

    def _land(self, key: _Key, flight: Future[Any], entry: _Entry | None = None) -> None:
        """End the making of a value and hold `entry`, unless the key was forgotten meanwhile."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                if entry is not None:
                    self._put(key, entry)

    def _get(self, key: _Key) -> Any | None:
        entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def _put(self, key: _Key, entry: _Entry) -> None:
        self._entries.pop(key, None)
        with suppress(ValueError):  # it is too large
            self._entries[key] = entry


def size_of(value: object) -> int:
    """The bytes of `value` and all that it refers to, arrays included, classes and code left out."""
    found, seen, todo = 0, set(), [value]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, _OF_THE_PROGRAM):
            continue
        seen.add(id(each))
        # A view counts as an array of its own: it may be all that keeps the memory.
        found += each.nbytes if isinstance(each, np.ndarray) else sys.getsizeof(each)
        todo += gc.get_referents(each)
    return found


def _landed(flight: Future[Any]) -> Any:
    """Wait for the value that another thread makes; raises the error of that thread, and those of `get_or_make`."""
    ends = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < ends:
        if wait([flight], _ASK_EVERY_S).done:
            return flight.result()
        go_on()
    raise InputError(TOO_LONG)
