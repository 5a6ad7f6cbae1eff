"""What the host may count: visits, runs, how long they took, what failed and what was refused. No visitor is in it."""

import math
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from demo.inspection import OUR_FAULT
from demo.sessions.records import Run
from models.errors import Stopped
from models.registry import Task

_REMEMBERED_DURATIONS = 2_000
_BEFORE_THE_FIRST_RUN_S = 2.0

DONE, INPUT, OURS, STOPPED = "done", "the visitor's input", "our side", "stopped"
_FAILURES = {OUR_FAULT: OURS, Stopped.SENTENCE: STOPPED}


@dataclass(frozen=True)
class Latency:
    """The median and the 95th percentile of a task's last runs, in milliseconds, over `count` of them."""

    p50_ms: float
    p95_ms: float
    count: int


@dataclass
class Metrics:
    """Counts since the start of this process; safe to call from many threads."""

    started_utc: datetime = field(default_factory=lambda: datetime.now(UTC))
    visits_by_day: Counter[str] = field(default_factory=Counter)
    runs: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    _durations_ms: defaultdict[str, deque[float]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_REMEMBERED_DURATIONS))
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def visited(self) -> None:
        """Somebody opened the page."""
        with self._lock:
            self.visits_by_day[_today()] += 1

    def ran(self, run: Run) -> None:
        """A run ended, well or not."""
        outcome = DONE if run.error is None else _FAILURES.get(run.error, INPUT)
        with self._lock:
            self.runs[_today(), run.task.endpoint, outcome] += 1
            if outcome == DONE:
                self._durations_ms[run.task.endpoint].append(run.duration_ms)

    def refused(self, kind: str) -> None:
        """A call was turned away by the limit of this name."""
        with self._lock:
            self.refusals[kind] += 1

    def latency(self, task: Task) -> Latency | None:
        """How long the last runs of a task took; None before the first."""
        with self._lock:
            durations = sorted(self._durations_ms[task.endpoint])
        if not durations:
            return None
        return Latency(_quantile(durations, 0.5), _quantile(durations, 0.95), len(durations))

    @property
    def typical_s(self) -> float:
        """How long a run takes, over all tasks: what a visitor in line is told to wait by."""
        with self._lock:
            durations = sorted(each for times in self._durations_ms.values() for each in times)
        return _quantile(durations, 0.5) / 1000 if durations else _BEFORE_THE_FIRST_RUN_S

    def total(self, outcome: str) -> int:
        """How many runs had this outcome."""
        with self._lock:
            return sum(count for (_, _, each), count in self.runs.items() if each == outcome)

    def table(self) -> Iterable[tuple[str, str, str, int]]:
        """Day, task, outcome and number of runs, newest day first."""
        with self._lock:
            rows = [(*key, count) for key, count in self.runs.items()]
        return sorted(rows, key=lambda row: row[:3], reverse=True)


def _quantile(ordered: list[float], share: float) -> float:
    """The smallest of the ordered values that at least `share` of them do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
