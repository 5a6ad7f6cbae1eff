"""Upkeep of the log: it comes back after a failure, and forgets what is old."""

import logging
import threading
import time
from collections.abc import Callable

from demo.log.session_log import LogUnavailable, SessionLog

_log = logging.getLogger(__name__)
_LOOKS_EVERY_S = 2.0
_DAY_S = 86_400.0


class Upkeep:
    """Looks after `runs` in a thread of its own; `retention_days` is how long a run is kept, `None` for good.

    `forget_old` drops what has been held in memory for its time.
    """

    def __init__(
        self,
        runs: SessionLog,
        retention_days: int | None,
        clock: Callable[[], float] = time.monotonic,
        forget_old: Callable[[], None] = lambda: None,
    ) -> None:
        self._runs = runs
        self._retention_days = retention_days
        self._clock = clock
        self._forget_old = forget_old
        self._purged_at: float | None = None

    def start(self) -> None:
        """Begin; it ends with the process."""
        threading.Thread(target=self._work, name="session log", daemon=True).start()

    def look(self) -> None:
        """Do what is due now."""
        self._forget_old()
        self._runs.recover()
        self._runs.tidy()
        now = self._clock()
        if self._retention_days is None or (self._purged_at is not None and now - self._purged_at < _DAY_S):
            return
        try:
            gone = self._runs.purge(self._retention_days)
        except LogUnavailable:
            return
        self._purged_at = now
        if gone:
            _log.info("%d runs older than %d days were deleted", gone, self._retention_days)

    def _work(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                _log.exception("the upkeep of the session log failed; it goes on")
            time.sleep(_LOOKS_EVERY_S)
