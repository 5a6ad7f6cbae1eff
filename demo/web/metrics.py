"""Metrics for the host: pages opened, runs and their durations, failures and refusals; nothing about a visitor."""

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from demo.log.run import Run
from demo.looks import OUR_FAULT
from models.errors import Stopped

_REMEMBERED_DURATIONS = 2_000
_BEFORE_THE_FIRST_RUN_S = 2.0

_RUN_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_WAIT_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

DONE, INPUT, OURS, STOPPED = "done", "the visitor's input", "our side", "stopped"
_FAILURES: dict[str, str] = {OUR_FAULT: OURS, Stopped.SENTENCE: STOPPED}

# Each counter would have a second series with the time of its creation.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts since the start of this process, in a registry of their own; safe to call from many threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._opened = Counter("clearhead_visits", "Pages opened", registry=self.registry)
        self._runs = Counter("clearhead_runs", "Runs", ("task", "outcome"), registry=self.registry)
        self._refused = Counter("clearhead_refused", "Limits hit, in calls", ("limit",), registry=self.registry)
        self._latency = Gauge(
            "clearhead_run_duration_milliseconds", "Latency, in ms", ("task", "quantile"), registry=self.registry
        )
        # The histograms of several processes can be added up; their quantiles cannot.
        self._seconds = Histogram(
            "clearhead_run_seconds",
            "Duration of an answered run",
            ("task",),
            buckets=_RUN_BUCKETS_S,
            registry=self.registry,
        )
        self._waited = Histogram(
            "clearhead_wait_seconds",
            "Time in line of a run or a look",
            buckets=_WAIT_BUCKETS_S,
            registry=self.registry,
        )
        self._durations_ms: dict[str, deque[float]] = {}
        self._lock = threading.Lock()
        started = Gauge(
            "clearhead_start_time_seconds", "Running since, in seconds of Unix time", registry=self.registry
        )
        started.set_to_current_time()

    def read(self, name: str, meaning: str, function: Callable[[], float]) -> None:
        """Add a gauge `clearhead_{name}`, whose value `function` returns whenever it is read."""
        Gauge(f"clearhead_{name}", meaning, registry=self.registry).set_function(function)

    def page_opened(self) -> None:
        """Count a visit."""
        self._opened.inc()

    def ran(self, run: Run) -> None:
        """Count a run that has ended, answered or failed."""
        task = run.task.endpoint
        outcome = DONE if run.error is None else _FAILURES.get(run.error, INPUT)
        self._runs.labels(task, outcome).inc()
        if outcome != DONE:
            return
        self._seconds.labels(task).observe(run.duration_ms / 1000)
        with self._lock:
            is_first = task not in self._durations_ms
            self._durations_ms.setdefault(task, deque(maxlen=_REMEMBERED_DURATIONS)).append(run.duration_ms)
        if is_first:
            for share in (0.5, 0.95):
                self._latency.labels(task, str(share)).set_function(partial(self._quantile_ms, share, task))

    def waited(self, seconds: float) -> None:
        """Count a run or a look that has left the line, and the seconds that it waited."""
        self._waited.observe(seconds)

    def refused(self, limit: str) -> None:
        """Count a call that this limit turned away."""
        self._refused.labels(limit).inc()

    @property
    def typical_run_s(self) -> float:
        """The median duration of the last runs of all tasks in seconds, from which visitors' waits are estimated."""
        return self._quantile_ms(0.5) / 1000 if self._durations_ms else _BEFORE_THE_FIRST_RUN_S

    def _quantile_ms(self, share: float, task: str | None = None) -> float:
        """The smallest duration that at least `share` of the last runs (of a task, or of all) did not exceed."""
        with self._lock:
            ordered = sorted(ms for name, each in self._durations_ms.items() if task in (None, name) for ms in each)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def memory_bytes() -> int:
    """The memory that this process holds now, in bytes; on macOS the most it ever held, on other systems 0."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0
