"""Runs in memory: those that wait for the database, and those that are not to be kept."""

import threading
from collections import OrderedDict
from datetime import datetime

from demo.sessions.records import Run


class HeldRuns:
    """The most recent runs, at most `most` of them; safe to call from many threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._runs)

    def put(self, run: Run) -> bool:
        """Hold a run; false if the oldest one had to go for it."""
        with self._lock:
            self._runs[run.id] = run
            if len(self._runs) <= self.most:
                return True
            self._runs.popitem(last=False)
            return False

    def get(self, run_id: str) -> Run | None:
        """The run with this id."""
        with self._lock:
            return self._runs.get(run_id)

    def first(self) -> Run | None:
        """The run that has been held for the longest time."""
        with self._lock:
            return next(iter(self._runs.values()), None)

    def for_session(self, session_id: str) -> tuple[Run, ...]:
        """The runs of a session, newest first."""
        with self._lock:
            return tuple(run for run in reversed(self._runs.values()) if run.session_id == session_id)

    def drop(self, run_id: str, session_id: str) -> bool:
        """Let go of a run if it belongs to this session; says whether it did."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.session_id != session_id:
                return False
            del self._runs[run_id]
            return True

    def drop_all(self, session_id: str) -> int:
        """Let go of all runs of a session; says how many there were."""
        with self._lock:
            gone = [run_id for run_id, run in self._runs.items() if run.session_id == session_id]
            for run_id in gone:
                del self._runs[run_id]
            return len(gone)

    def drop_before(self, moment: datetime) -> None:
        """Let go of the runs that began earlier."""
        with self._lock:
            for run_id in [run_id for run_id, run in self._runs.items() if run.created_utc < moment]:
                del self._runs[run_id]
