"""Measure how time and memory grow with the tokens read, the tokens written and the visitors.

`python -m benchmarks.growth` measures all three, prints them and draws `benchmarks/growth.png`. Time is a median. For
tokens, memory is the peak above what the process held before, in a process of its own for each point; for visitors, it
is the server's.
"""

import argparse
import asyncio
import json
import math
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import matplotlib.pyplot as plt
import numpy as np
import psutil

from benchmarks.visitors import ROOT, UNHURRIED, crowd, our_calls, served
from benchmarks.work import milliseconds
from models.decoding.generate import Chooser, DecoderState, write
from models.decoding.sampling import GenerationSettings
from models.engine import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import find
from models.tasks.base import AnyTaskModel

TOKENS = (16, 32, 64, 128, 256, 512)
NEW_TOKENS = (16, 32, 64, 128, 256)
VISITORS = (1, 2, 4, 8, 16, 32, 64)
RUNS = 15
VISIT_S = 15.0
PICTURE = ROOT / "benchmarks/growth.png"
UNIT_OF_PEAK = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of `ru_maxrss`: macOS counts bytes, Linux KiB."""


@dataclass(frozen=True)
class Point:
    """The milliseconds of one answer and the megabytes at `size` tokens or visitors."""

    size: int
    ms: float
    mb: float


def read(model: AnyTaskModel, size: int) -> None:
    """Fill a blank in a text of `size` tokens, the two special ones included, and capture all attention."""
    inputs = model.inputs_type(text="[MASK]" + " lamp" * (size - 3))
    model.answer(inputs)
    model.attend(inputs)


def written(model: AnyTaskModel, size: int) -> None:
    """Write `size` tokens by greedy search."""
    state = DecoderState(model.engine, np.array([[model.tokenizer.settings.bos_token_id]]))
    list(write(state, Chooser(GenerationSettings(), size + 1), size))


ALONE = {"tokens read": ("fill_mask", read), "tokens written": ("completion", written)}
"""The sizes that one visitor can vary, each with its model's endpoint and the action to measure."""


def point(against: str, size: int) -> Point:
    """Measure one point in this process."""
    task, action = ALONE[against]
    model = ModelStore(engine=DEFAULT_SETTINGS).load(find(task))
    action(model, min(TOKENS))
    before = psutil.Process().memory_info().rss
    action(model, size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT_OF_PEAK
    ms = statistics.median(milliseconds(lambda: action(model, size)) for _ in range(RUNS))
    return Point(size, round(ms, 2), round(max(0, peak - before) / 1e6, 1))


def alone(against: str, sizes: tuple[int, ...]) -> Iterator[Point]:
    """The points for one visitor, each measured in a process of its own."""
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.growth", "--point", against, str(size)]
        finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
        yield Point(**json.loads(finished.stdout))


def together(sizes: tuple[int, ...]) -> Iterator[Point]:
    """For each number of visitors, the median wait for an answer, all tasks mixed, and the server's memory."""
    with served(settings=UNHURRIED) as page:
        asyncio.run(crowd(page.url, our_calls, VISIT_S, visitors=4))
        for size in sizes:
            waits_s = asyncio.run(crowd(page.url, our_calls, VISIT_S, visitors=size))
            mb = page.process.memory_info().rss / 1e6
            yield Point(size, round(1000 * statistics.median(waits_s), 1), round(mb, 1))


def in_words(against: str, points: list[Point]) -> str:
    """A sentence that says what doubling the size costs, over the whole range and at its end."""
    first, before, last = points[0], points[-2], points[-1]
    time, memory = ("wait", "the server") if against == "visitors" else ("time", "memory beyond the model's")
    overall, at_the_end = ((last.ms / start.ms) ** (1 / math.log2(last.size / start.size)) for start in (first, before))
    return (
        f"Twice the {against}: {overall:.2f} times the {time} on the average, {at_the_end:.2f} times at the end; "
        f"{memory} goes from {first.mb:,.0f} to {last.mb:,.0f} MB."
    )


def draw(growths: dict[str, list[Point]]) -> None:
    """Draw time above memory, with a column for each kind of size."""
    figure, axes = plt.subplots(2, len(growths), figsize=(12, 4.6), layout="constrained")
    for (times, memories), (against, points) in zip(axes.T, growths.items(), strict=True):
        sizes = [each.size for each in points]
        for axis, unit, values in (
            (times, "ms", [each.ms for each in points]),
            (memories, "MB", [each.mb for each in points]),
        ):
            axis.plot(sizes, values, marker="o", color="#2a6f97")
            axis.set_xscale("log", base=2)
            axis.set_xticks(sizes, sizes)
            axis.set_ylabel(unit)
        times.set(title=f"Time against {against}", yscale="log")
        memories.set(title=f"Memory against {against}", ylim=0)
    figure.savefig(PICTURE, dpi=100)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--point", nargs=2, metavar=("AGAINST", "SIZE"), help=f"one point: {' or '.join(ALONE)}")
    given = parser.parse_args()
    if given.point:
        against, size = given.point
        print(json.dumps(asdict(point(against, int(size)))))
        return
    growths: dict[str, list[Point]] = {}
    for against, points in {
        "tokens read": alone("tokens read", TOKENS),
        "tokens written": alone("tokens written", NEW_TOKENS),
        "visitors": together(VISITORS),
    }.items():
        print(f"{against:>16}{'ms':>12}{'MB':>10}")
        growths[against] = []
        for each in points:
            growths[against].append(each)
            print(f"{each.size:>16}{each.ms:>12,.1f}{each.mb:>10,.1f}", flush=True)
        print(in_words(against, growths[against]), flush=True)
    draw(growths)


if __name__ == "__main__":
    main()
