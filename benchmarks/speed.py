"""Speed and memory against plain transformers and plain Gradio, both sides in one run.

    python -m benchmarks.speed                     all rows, as a table
    python -m benchmarks.speed --only "fill mask"  one row
    python -m benchmarks.speed --list              what can be measured
    python -m benchmarks.speed --json speed.json   the rows as JSON too

A row is `{work, baseline, ours, unit, ratio, needs, met}`: two medians, how many times the baseline we take, and the
most that may be. The sides take turns, so that a busy machine slows both, and `ratio` is the median over the pairs.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.plain_transformers import PLAIN
from models.assembly import plain_network
from models.checkpoints import find
from models.loading import ModelStore
from models.precision import AUTO

ROOT = Path(__file__).resolve().parents[1]
WARM_UP_RUNS = 3
MEMORY_MB = 1500.0

Sides = Iterator[tuple[float, float]]
"""Pairs of one measurement of the baseline and one of ours, without end."""


@dataclass(frozen=True)
class Row:
    """What was measured for one piece of work."""

    work: str
    baseline: float
    ours: float
    unit: str
    ratio: float
    needs: float
    met: bool


@dataclass(frozen=True)
class Work:
    """Something to measure: `sides` yields pairs, and ours may be at most `needs` times the baseline."""

    name: str
    unit: str
    needs: float
    sides: Callable[[], Sides]
    runs: int = 31


def milliseconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def answering(task: str, **fields: object) -> Callable[[], Sides]:
    """A bundled checkpoint as the page runs it, against transformers as a user would call it, in float32."""

    def sides() -> Sides:
        model = ModelStore(precision=AUTO).load(find(task))
        plain = PLAIN[task](plain_network(model.checkpoint), model.tokenizer)
        while True:
            yield milliseconds(lambda: plain(**fields)), milliseconds(lambda: model(**fields))
            # The first of a pair may meet a cooler cache: they take turns at that, too.
            ours = milliseconds(lambda: model(**fields))
            yield milliseconds(lambda: plain(**fields)), ours

    return sides


def first_page() -> Sides:
    """From starting the process to the first page, against a one-line Gradio app."""
    one_line = "import gradio; gradio.Interface(lambda text: text, 'text', 'text').launch(quiet=True)"
    while True:
        yield until_first_page([sys.executable, "-c", one_line]), until_first_page([sys.executable, "app.py"])


def until_first_page(command: list[str]) -> float:
    """Seconds from starting `command` until its page answers with 200."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "CLEARHEAD_DATABASE_URL": f"sqlite:///{folder}/clearhead.db",
        }
        began = time.perf_counter()
        server = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            while not answers(f"http://127.0.0.1:{port}/"):
                if server.poll() is not None:
                    raise RuntimeError(f"{command} ended: {server.stderr.read().decode() if server.stderr else ''}")
                time.sleep(0.01)
            return time.perf_counter() - began
        finally:
            server.kill()
            server.wait()


def answers(address: str) -> bool:
    """Whether the page at `address` is there."""
    try:
        with urllib.request.urlopen(address, timeout=60) as page:  # noqa: S310
            return bool(page.status == 200)
    except OSError:
        return False


def memory() -> Sides:
    """The resident memory of a process that has loaded and used all bundled models, against what it may be."""
    code = (
        "import json, psutil\n"
        "from models.checkpoints import find\n"
        "from models.loading import ModelStore\n"
        f"store = ModelStore(precision={AUTO!r})\n"
        f"for task, fields in json.loads({json.dumps(json.dumps(INPUTS))}).items(): store.load(find(task))(**fields)\n"
        "print(psutil.Process().memory_info().rss)"
    )
    while True:
        finished = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
        )
        yield MEMORY_MB, int(finished.stdout) / 1e6


INPUTS: dict[str, dict[str, object]] = {
    "fill_mask": {"text": "The old keeper climbed the [MASK] every evening and lit the lamp for the boats."},
    "sentiment": {"text": "A quiet, generous film that takes its time and never once raises its voice."},
    "question_answering": {
        "question": "Who lit the lamp?",
        "context": "The lighthouse stood at the end of the pier. Its keeper, Ada Quist, climbed the stairs every "
        "evening and lit the lamp. When a storm came over the hills, the boats turned home and the market closed. "
        "In the morning the sea was calm again, and bread, cheese and apples were sold until noon.",
    },
    "translation": {"text": "The children are playing in the garden because the weather is nice today."},
    "completion": {"prompt": "Once upon a time there was a", "max_new_tokens": 40, "seed": 1},
}
"""A typical input for each task."""

WORKS = (
    Work("fill mask", "ms", 1.0, answering("fill_mask", **INPUTS["fill_mask"])),
    Work("sentiment", "ms", 1.0, answering("sentiment", **INPUTS["sentiment"])),
    Work("question answering", "ms", 1.0, answering("question_answering", **INPUTS["question_answering"])),
    Work("translation, 4 beams", "ms", 1.0, answering("translation", **INPUTS["translation"])),
    Work("completion, sampled", "ms", 1.0, answering("completion", **INPUTS["completion"])),
    Work("completion, greedy", "ms", 1.0, answering("completion", **INPUTS["completion"], strategy="greedy")),
    Work("completion, 4 beams", "ms", 1.0, answering("completion", **INPUTS["completion"], strategy="beam")),
    Work("first page", "s", 1.5, first_page, runs=15),
    Work("memory of the five bundled models", "MB", 1.0, memory, runs=1),
)
"""One entry for each row: to add a row, yield pairs and say what they need."""


def measure(work: Work, runs: int) -> Row:
    """The medians of `runs` pairs, after a warm-up where there is more than one."""
    sides = work.sides()
    for _ in range(WARM_UP_RUNS if runs > 1 else 0):
        next(sides)
    pairs = [next(sides) for _ in range(runs)]
    baseline, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    # Two decimals are what a median of so many pairs can tell apart.
    ratio = round(statistics.median(mine / other for other, mine in pairs), 2)
    return Row(work.name, round(baseline, 2), round(ours, 2), work.unit, ratio, work.needs, ratio <= work.needs)


def main() -> int:
    """Measure, print a table, and return 1 if anything needs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--only", metavar="WORK", help="measure only the rows whose name holds WORK")
    parser.add_argument("--runs", type=int, help="how many pairs (a row's own number where this is not given)")
    parser.add_argument("--list", action="store_true", help="say what can be measured, and stop")
    arguments = parser.parse_args()
    works = [work for work in WORKS if not arguments.only or arguments.only in work.name]
    if arguments.list or not works:
        print(*(work.name for work in WORKS), sep="\n")
        return 0 if arguments.list else 2
    print(f"{'work':<36}{'baseline':>10}{'ours':>10}  {'unit':<5}{'ratio':>7}{'needs':>7}  met")
    rows = []
    for work in works:
        row = measure(work, arguments.runs if arguments.runs and work.runs > 1 else work.runs)
        rows.append(row)
        print(f"{row.work:<36}{row.baseline:>10,.1f}{row.ours:>10,.1f}  {row.unit:<5}{row.ratio:>7.2f}{row.needs:>7.2f}"
              f"  {'yes' if row.met else 'NO'}", flush=True)  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
