"""Locks that are waited for with a bound: whoever holds one for too long costs the others an error, and no hang."""

import threading
import time
from types import TracebackType

from models.errors import Overdue
from models.stopping import go_on

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
        if self._lock.acquire(blocking=False):
            return
        ends_s = time.monotonic() + self._longest_s
        while not self._lock.acquire(timeout=min(ASK_EVERY_S, self._longest_s)):
            go_on()
            if time.monotonic() >= ends_s:
                raise Overdue

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
