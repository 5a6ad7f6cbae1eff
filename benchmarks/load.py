"""Load a real process with many visitors, and check that each gets its own answers or is told that the app is busy.

`python -m benchmarks.load` lets 100 visitors run mixed tasks for 300 seconds; with `--runs 20000` they ask until there
were that many answers. Both check that memory and file handles do not grow.
"""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import psutil

from benchmarks.visitors import UNHURRIED, Call, Served, Tally, Visitor, served
from demo.runs import RUNS_OF_A_PAGE

PAUSE_S = 2.0
"""Mean seconds for which a visitor reads an answer before asking again."""

MAY_GROW = 1.05
"""The largest memory allowed afterwards, as a multiple of the memory before."""

MOST_S = 6 * 3600.0
WARM_UP_S = 8.0
SAMPLES = 20
MOST_PAGES = 1_000


def mixed(mark: str, number: int) -> list[Call]:
    """A short call of each task, with the visitor's mark and the number of the call in its text."""
    context = f"When the sun went down, the keeper {mark} lit lamp {number}, and the boats came home."
    return [
        ("sentiment", [f"Film {number} by {mark} was quiet and generous.", ""]),
        ("fill_mask", [f"{mark} lit the [MASK] at {number}.", 3, "", ""]),
        ("question_answering", ["Who lit the lamp?", context, 3, ""]),
        ("translation", [f"{mark} sleeps in house {number}.", 2, ""]),
        ("completion", [f"{mark} and {number} friends", 12, "sample", 0.8, 50, 0.95, 4, number, ""]),
    ]


def cheap(mark: str, number: int) -> list[Call]:
    """Calls that cost little, so that many of them fit into an hour."""
    return mixed(mark, number)[:2]


@dataclass(frozen=True)
class Held:
    """The process's memory in MB, handles (open files and sockets) and threads after this number of answers."""

    answers: int
    memory_mb: float
    handles: int
    threads: int


def held(process: psutil.Process, answers: int) -> Held:
    """What `process` holds now."""
    with process.oneshot():
        memory_mb = round(process.memory_info().rss / 1e6, 1)
        return Held(answers, memory_mb, process.num_fds(), process.num_threads())


@dataclass(frozen=True)
class History:
    """Counts of logged runs that visitors see at the end: all, those of other visitors, and missing answers."""

    checked: int = 0
    foreign: int = 0
    lost: int = 0


async def history_of(visitor: Visitor) -> History:
    """Count a visitor's logged runs, those of others or with another answer, and received answers that are missing."""
    kept = {run["id"]: run for run in await runs_of(visitor)}
    foreign = sum(visitor.mark not in json.dumps(run["inputs"]) for run in kept.values())
    for run_id in visitor.answers.keys() & kept.keys():
        if kept[run_id]["task"] == "sentiment":
            foreign += kept[run_id]["answer"]["label"] != visitor.answers[run_id]["label"]
    return History(len(kept), foreign, len(visitor.answers.keys() - kept.keys()))


async def runs_of(visitor: Visitor) -> list[dict[str, Any]]:
    """The visitor's logged runs, page by page."""
    runs: list[dict[str, Any]] = []
    for _ in range(MOST_PAGES):
        page = await visitor.ask("session_runs", [RUNS_OF_A_PAGE, len(runs)])
        # Nothing: the visitor was turned away, and asks for the same page again.
        runs += page or []
        if page is not None and len(page) < RUNS_OF_A_PAGE:
            break
    return runs


async def visits(
    served_at: Served, visitors: int, seconds: float, runs: int | None, tally: Tally, watch: list[Held]
) -> History:
    """Let the visitors ask for `seconds`, or until there were `runs` answers, and sample the process into `watch`."""
    ends = time.monotonic() + (seconds if runs is None else MOST_S)

    def goes_on() -> bool:
        return time.monotonic() < ends and (runs is None or len(tally.seconds) < runs)

    async def look() -> None:
        until = len(tally.seconds)
        while goes_on():
            if runs is None or len(tally.seconds) >= until:
                watch.append(held(served_at.process, len(tally.seconds)))
                until += (runs or 0) // SAMPLES
            await asyncio.sleep(seconds / SAMPLES if runs is None else 0.5)

    async def come(number: int) -> History:
        visitor = Visitor(served_at.url, number, mixed if runs is None else cheap, tally)
        async with visitor.client:
            await visitor.visit(goes_on, PAUSE_S if runs is None else 0.0)
            return await history_of(visitor)

    looking = asyncio.create_task(look())
    found = await asyncio.gather(*map(come, range(visitors)))
    await looking
    return History(*(sum(column) for column in zip(*map(astuple, found), strict=True)))


def measure(visitors: int, seconds: float, runs: int | None, idle_s: float) -> bool:
    """Start the app, warm it up, let the visitors ask, let it rest and print; return whether every check passed."""
    # A soak test asks as fast as it gets answers, which the limit on a visitor's calls would refuse.
    with served(settings=None if runs is None else UNHURRIED) as page:
        asyncio.run(visits(page, visitors, WARM_UP_S, None, Tally(), []))
        time.sleep(idle_s)
        watch, tally = [held(page.process, 0)], Tally()
        began = time.monotonic()
        history = asyncio.run(visits(page, visitors, seconds, runs, tally, watch))
        took_s = time.monotonic() - began
        time.sleep(idle_s)
        watch.append(held(page.process, len(tally.seconds)))
    p50, p95 = np.quantile(tally.seconds or [0.0], [0.5, 0.95])
    answers, before, after = len(tally.seconds), watch[0], watch[-1]
    growth = after.memory_mb / before.memory_mb
    print(f"{visitors} visitors for {took_s:,.0f} s: {answers:,} answers, {answers / took_s:.1f} a second")
    print(f"p50 {p50:.2f} s, p95 {p95:.2f} s; by task: {dict(tally.by_task)}")
    print(f"busy: {dict(tally.busy)}")
    print(f"failures: {dict(tally.failures)}")
    print(f"{history.checked:,} logged runs seen: {history.foreign} of somebody else, {history.lost} answers lost")
    print(f"{'answers':>9}{'MB':>10}{'handles':>9}{'threads':>9}")
    for each in watch:
        print(f"{each.answers:>9,}{each.memory_mb:>10,.1f}{each.handles:>9}{each.threads:>9}")
    same = growth <= MAY_GROW and after.handles <= before.handles
    met = bool(answers) and not tally.failures and not history.foreign and not history.lost and same
    print(f"memory afterwards: {growth:.3f} of before; as it must be: {'yes' if met else 'NO'}")
    return met


def main() -> int:
    """Measure, and return 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--visitors", type=int, default=100, help="how many at once (100)")
    parser.add_argument("--seconds", type=float, default=300, help="for how long (300)")
    parser.add_argument("--runs", type=int, help="instead of for a time: until there were so many answers")
    parser.add_argument("--idle", type=float, default=15, help="seconds of rest before memory is read (15)")
    given = parser.parse_args()
    return 0 if measure(given.visitors, given.seconds, given.runs, given.idle) else 1


if __name__ == "__main__":
    sys.exit(main())
