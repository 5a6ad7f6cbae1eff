"""Speed and memory against plain transformers and plain Gradio, both sides in one run.

    python -m benchmarks.speed                     all rows, as a table
    python -m benchmarks.speed --only "fill mask"  one row
    python -m benchmarks.speed --json speed.json   the rows as JSON too

A row is `{work, baseline, ours, unit, ratio, needs, met}`: the median of each side, their ratio, and the largest ratio
allowed. The sides take turns, so that a busy machine slows both, and `ratio` is the median over the pairs.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks import first_page, published
from benchmarks.baselines import plain
from benchmarks.visitors import INPUTS, OUR_PAGE, UNHURRIED, Calls, crowd, our_calls, plain_calls, served
from benchmarks.work import Sides, Work, in_turns, milliseconds
from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Settings
from demo.teaching import ready_set
from models.backend import LocalBackend
from models.engine import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import Task, find, task_called

TOGETHER = 8
"""Visitors at once inside this process."""

CROWD, CROWD_S, WARM_UP_S = 32, 60.0, 10.0
"""Visitors at once over HTTP, the seconds for which they are measured, and those of the warm-up before."""

BESIDE_ROUNDS, SETTLE_S = 8, 1.0

SPRINGS = (
    "The birds come back in spring, and the days grow longer.",
    "The spring in the old clock is broken, so it stands still.",
    "We plant potatoes in early spring, when the ground is soft.",
    "They drank from a spring in the forest before they went on.",
    "A spring in the mattress has come through the cover.",
    "The spring near the village never runs dry in summer.",
)


def answering(task: str, **fields: object) -> Callable[[], Sides]:
    """Compare a bundled checkpoint as the app runs it with transformers as a user would call it, in float32."""

    def sides() -> Sides:
        model = ModelStore(engine=DEFAULT_SETTINGS).load(find(task))
        theirs, given = plain(model.checkpoint), INPUTS[task] | fields
        return in_turns(lambda: theirs(**given), lambda: model(**given))

    return sides


def within_a_second(task: str, **fields: object) -> Callable[[], Sides]:
    """Compare a run of a bundled checkpoint, whose PyTorch network is already loaded, with a second."""

    def sides() -> Sides:
        model = ModelStore(engine=DEFAULT_SETTINGS).load(find(task), task=task_called(task))
        while True:
            yield 1000.0, milliseconds(lambda: model(**fields))

    return sides


@contextmanager
def service() -> Iterator[DemoService]:
    """The app's service, with a log of its own."""
    with tempfile.TemporaryDirectory() as folder:
        store = ModelStore(engine=DEFAULT_SETTINGS)
        yield DemoService(Settings(), LocalBackend(store), SessionLog(f"sqlite:///{Path(folder) / 'runs.db'}"))


def again() -> Sides:
    """Compare a run of the service with the same run repeated."""
    with service() as ours:
        session = ours.new_session()
        for number in count():
            text = f"{number} children are playing in the garden because it is nice."
            run = partial(ours.run, session, Task.TRANSLATION, INPUTS["translation"] | {"text": text})
            yield milliseconds(run), milliseconds(run)


def together(task: Task, turns: int, field: str = "text", text: str = "") -> Callable[[], Sides]:
    """Compare the ms of an answer for visitors one after the other and all at once; each asks `turns` times."""

    def sides() -> Sides:
        numbers, short = count(1000), text or INPUTS[task.endpoint][field]
        with service() as ours:

            def visit() -> None:
                session = ours.new_session()
                for _ in range(turns):
                    # The number makes each text new, so that none is answered from a cache.
                    ours.run(session, task, INPUTS[task.endpoint] | {field: f"{short} {next(numbers)}"})

            def in_a_row() -> None:
                for _ in range(TOGETHER):
                    visit()

            def at_once() -> None:
                threads = [threading.Thread(target=visit) for _ in range(TOGETHER)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            for row, once in in_turns(in_a_row, at_once):
                yield row / (TOGETHER * turns), once / (TOGETHER * turns)

    return sides


def beside_a_busy_process() -> Sides:
    """Compare the 95th percentile of all tasks' times on a quiet machine and beside a process that takes one core."""
    store = ModelStore(engine=DEFAULT_SETTINGS)
    runs = [partial(store.load(find(task)), **fields) for task, fields in INPUTS.items()]

    def slowest_ms() -> float:
        # Nearly all visitors come after the other process has been busy for a while, so the first moments are left out.
        settled = time.monotonic() + SETTLE_S
        while time.monotonic() < settled:
            runs[0]()
        return float(np.quantile([milliseconds(run) for _ in range(BESIDE_ROUNDS) for run in runs], 0.95))

    while True:
        idle = slowest_ms()
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            yield idle, slowest_ms()
        finally:
            busy.kill()
            busy.wait()


@cache
def crowds() -> tuple[list[float], list[float]]:
    """The waits in seconds of the plain app's visitors, then of ours; cached, since two rows are about them."""

    def waits(command: list[str], calls: Calls) -> list[float]:
        with served(command, UNHURRIED) as page:
            asyncio.run(crowd(page.url, calls, WARM_UP_S, CROWD))
            return asyncio.run(crowd(page.url, calls, CROWD_S, CROWD))

    return waits([sys.executable, "-m", "benchmarks.baselines"], plain_calls), waits(OUR_PAGE, our_calls)


def of_crowds(figure: Callable[[list[float]], float]) -> Callable[[], Sides]:
    """Compare `figure` of the plain app's waits with that of ours."""

    def sides() -> Sides:
        theirs, ours = crowds()
        while True:
            yield figure(theirs), figure(ours)

    return sides


WORKS = (
    Work("fill mask", "ms", 0.25, answering("fill_mask")),
    Work("sentiment", "ms", 0.38, answering("sentiment")),
    Work("question answering", "ms", 0.42, answering("question_answering")),
    Work("names", "ms", 0.45, answering("names")),
    Work("sentence pair", "ms", 0.45, answering("sentence_pair")),
    Work("translation, 4 beams", "ms", 0.38, answering("translation")),
    Work("completion, sampled", "ms", 0.38, answering("completion")),
    Work("completion, greedy", "ms", 0.38, answering("completion", strategy="greedy")),
    Work("completion, 4 beams", "ms", 0.38, answering("completion", strategy="beam")),
    Work(
        "one word in six sentences, against a second",
        "ms",
        1.0,
        within_a_second("word_in_context", word="spring", sentences="\n".join(SPRINGS)),
    ),
    Work(
        "teaching, 40 examples, against a second", "ms", 1.0, within_a_second("teach", **ready_set("polite")), runs=11
    ),
    *published.WORKS,
    Work("the same again", "ms", 1 / 20, again),
    *(
        Work(f"{task.endpoint.replace('_', ' ')}, {TOGETHER} visitors at once", "ms", 1.0, sides, runs=11)
        for task, sides in {
            Task.FILL_MASK: together(Task.FILL_MASK, 10),
            Task.SENTIMENT: together(Task.SENTIMENT, 10),
            Task.QUESTION_ANSWERING: together(
                Task.QUESTION_ANSWERING, 10, "context", "Ada Quist climbed the stairs every evening and lit the lamp."
            ),
            Task.NAMES: together(Task.NAMES, 10),
            Task.TRANSLATION: together(Task.TRANSLATION, 2),
            Task.COMPLETION: together(Task.COMPLETION, 2, "prompt"),
        }.items()
    ),
    Work("p95 beside a busy process", "ms", 2.0, beside_a_busy_process, runs=15),
    *first_page.WORKS,
    Work(
        f"{CROWD} visitors, time an answer takes", "ms", 0.33, of_crowds(lambda waits: 1000 * CROWD_S / len(waits)), 1
    ),
    Work(f"{CROWD} visitors, p95", "s", 0.20, of_crowds(lambda waits: float(np.quantile(waits, 0.95))), 1),
)
"""One entry for each row: to add a row, yield pairs and state the largest ratio allowed."""


def main() -> int:
    """Measure, print a table, and return 1 if a ratio is larger than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--only", metavar="WORK", help="the row of this name, or those whose name holds WORK")
    parser.add_argument("--runs", type=int, help="how many pairs (a row's own number where this is not given)")
    given = parser.parse_args()
    named = [work for work in WORKS if work.name == given.only]
    works = named or [work for work in WORKS if not given.only or given.only in work.name]
    if not works:
        parser.error("The rows are: " + ", ".join(work.name for work in WORKS))
    print(f"{'work':<46}{'baseline':>10}{'ours':>10}  {'unit':<5}{'ratio':>7}{'needs':>7}  met")
    rows = []
    for work in works:
        row = work.measure(given.runs if given.runs and work.runs > 1 else work.runs)
        rows.append(row)
        met = "yes" if row.met else "NO"
        print(f"{row.work:<46}{row.baseline:>10,.1f}{row.ours:>10,.1f}  {row.unit:<5}", end="")
        print(f"{row.ratio:>7.2f}{row.needs:>7.2f}  {met}", flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
