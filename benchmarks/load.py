"""Many visitors at once against a real process: does each get an answer or an honest "busy", and nobody else's?

`python -m benchmarks.load` lets 100 visitors run mixed tasks for 300 seconds; `python -m benchmarks.load --runs 20000`
asks until there were that many answers, and watches whether memory and file handles grow.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psutil

from benchmarks.visitor import Tally, Visitor, cheap, mixed

ROOT = Path(__file__).resolve().parents[1]
PAUSE_S = 2.0
"""How long a visitor reads an answer, on the average, before asking again."""

MAY_GROW = 1.05
"""How much larger the process may be afterwards."""

MOST_S = 6 * 3600.0
_STARTS_WITHIN_S = 120.0
_WARM_UP_S = 8.0
_SAMPLES = 20
_ANY = "1000000"


@dataclass(frozen=True)
class Held:
    """What the process holds at a moment: memory in MB, open files and sockets, threads."""

    answers: int
    memory_mb: float
    handles: int
    threads: int


@dataclass
class Report:
    """What was measured; `met` says whether all of it is as it must be."""

    visitors: int
    seconds: float
    answers: int
    by_task: dict[str, int]
    busy: dict[str, int]
    failures: dict[str, int]
    runs_checked: int
    foreign: int
    lost: int
    p50_s: float
    p95_s: float
    before: Held
    after: Held
    during: list[Held] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """Memory after the visitors left, as a share of what it was before they came."""
        return round(self.after.memory_mb / self.before.memory_mb, 3)

    @property
    def met(self) -> bool:
        """No failure, nothing foreign, nothing lost, and no more memory or open files than before."""
        same = self.growth <= MAY_GROW and self.after.handles <= self.before.handles
        return bool(self.answers) and not self.failures and not self.foreign and not self.lost and same


@contextmanager
def app(**settings: str) -> Iterator[tuple[str, psutil.Process]]:
    """The app in a process and with a database of its own, reached from this machine only."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "CLEARHEAD_HOST": "127.0.0.1",
            "CLEARHEAD_PORT": str(port),
            "CLEARHEAD_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite3",
            "HF_HUB_OFFLINE": "1",
        }
        with (Path(folder) / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=ROOT, env=environment | settings, stdout=output, stderr=output
            )
        try:
            url = f"http://127.0.0.1:{port}/"
            _wait_for(f"{url}readyz", process)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx.get(url, timeout=30).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit("the app did not start")


def held(process: psutil.Process, answers: int) -> Held:
    """What `process` holds now."""
    with process.oneshot():
        memory = process.memory_info().rss / 1e6
        return Held(answers, round(memory, 1), process.num_fds(), process.num_threads())


async def visits(url: str, visitors: int, seconds: float, runs: int | None, tally: Tally, watch: list[Held],
                 process: psutil.Process) -> None:  # fmt: skip
    """Let the visitors in for some seconds, or until there were enough answers, and look at the process meanwhile."""
    ends = time.monotonic() + (seconds if runs is None else MOST_S)

    def goes_on() -> bool:
        return time.monotonic() < ends and (runs is None or len(tally.seconds) < runs)

    async def look() -> None:
        until = len(tally.seconds)
        while goes_on():
            if runs is None or len(tally.seconds) >= until:
                watch.append(held(process, len(tally.seconds)))
                until += (runs or 0) // _SAMPLES
            await asyncio.sleep(seconds / _SAMPLES if runs is None else 0.5)

    calls, pause_s = (mixed, PAUSE_S) if runs is None else (cheap, 0.0)
    everybody = [Visitor(url, number, calls, tally, pause_s).visit(goes_on) for number in range(visitors)]
    await asyncio.gather(look(), *everybody)


def measure(visitors: int, seconds: float, runs: int | None, idle_s: float) -> Report:
    """Start the app, warm it up with the same visitors, measure, and let it rest before the last look."""
    # A soak asks as fast as it gets answers, which one visitor may not otherwise.
    settings = {} if runs is None else {"CLEARHEAD_RUNS_PER_MINUTE": _ANY}
    with app(**settings) as (url, process):
        asyncio.run(visits(url, visitors, _WARM_UP_S, None, Tally(), [], process))
        time.sleep(idle_s)
        before, tally = held(process, 0), Tally()
        during: list[Held] = []
        started = time.monotonic()
        asyncio.run(visits(url, visitors, seconds, runs, tally, during, process))
        took = time.monotonic() - started
        time.sleep(idle_s)
        after = held(process, len(tally.seconds))
    p50, p95 = np.quantile(tally.seconds or [0.0], [0.5, 0.95])
    return Report(
        visitors, round(took, 1), len(tally.seconds), dict(tally.by_task), dict(tally.busy), dict(tally.failures),
        tally.checked, tally.foreign, tally.lost, round(float(p50), 3), round(float(p95), 3), before, after, during,
    )  # fmt: skip


def in_words(report: Report) -> Iterator[str]:
    """The report as lines to read."""
    yield f"{report.visitors} visitors for {report.seconds:,.0f} s: {report.answers:,} answers"
    pace = report.answers / report.seconds
    yield f"{pace:.1f} answers a second; p50 {report.p50_s:.2f} s, p95 {report.p95_s:.2f} s; by task: {report.by_task}"
    yield f"busy: {report.busy}"
    yield f"failures: {report.failures}"
    yield f"{report.runs_checked:,} logged runs seen: {report.foreign} of somebody else, {report.lost} answers lost"
    yield f"{'answers':>9}{'MB':>10}{'handles':>9}{'threads':>9}"
    for each in [report.before, *report.during, report.after]:
        yield f"{each.answers:>9,}{each.memory_mb:>10,.1f}{each.handles:>9}{each.threads:>9}"
    yield f"memory afterwards: {report.growth:.3f} of before; as it must be: {'yes' if report.met else 'NO'}"


def main() -> int:
    """Measure, print, and return 1 where anything is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--visitors", type=int, default=100, help="how many at once (100)")
    parser.add_argument("--seconds", type=float, default=300, help="for how long (300)")
    parser.add_argument("--runs", type=int, help="instead of for a time: until there were so many answers")
    parser.add_argument("--idle", type=float, default=15, help="seconds of rest before memory is read (15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE as well")
    given = parser.parse_args()
    if not 1 <= given.visitors <= 1000 or not 1 <= given.seconds <= MOST_S:
        parser.error("from 1 to 1000 visitors, for at most six hours")
    report = measure(given.visitors, given.seconds, given.runs, given.idle)
    print(*in_words(report), sep="\n")
    if given.json:
        figures = {**asdict(report), "growth": report.growth, "met": report.met}
        given.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0 if report.met else 1


if __name__ == "__main__":
    sys.exit(main())
