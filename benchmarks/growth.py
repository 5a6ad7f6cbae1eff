"""How cost grows with the text that is read, with what is written, and with the visitors: points, a plot and words.

    python -m benchmarks.growth                    measure all three, print them, draw `benchmarks/growth.png`
    python -m benchmarks.growth --json growth.json the points as JSON too

Time is a median; memory is what the process took at its most beyond what it held before, in a process of its own for
each point.
"""

import argparse
import asyncio
import json
import math
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import psutil
from playwright.sync_api import sync_playwright
from plotly.subplots import make_subplots

from benchmarks.crowd import UNHURRIED, gathered, our_arguments
from benchmarks.load import ROOT, app
from benchmarks.work import milliseconds
from models.decoding.generate import Chooser, DecoderState, write
from models.decoding.sampling import GenerationSettings
from models.engine.choice import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import find
from models.tasks.base import AnyTaskModel

TOKENS = (16, 32, 64, 128, 256, 512)
NEW_TOKENS = (16, 32, 64, 128, 256)
VISITORS = (1, 2, 4, 8, 16, 32, 64)
RUNS = 15
VISIT_S = 15.0
PICTURE = ROOT / "benchmarks/growth.png"
SIZE = {"width": 1200, "height": 460}
UNIT_OF_PEAK = 1 if sys.platform == "darwin" else 1024
"""Bytes in what the system calls one in a process's greatest memory."""


@dataclass(frozen=True)
class Point:
    """At `size` tokens or visitors: milliseconds for one answer, and megabytes."""

    size: int
    ms: float
    mb: float


@dataclass(frozen=True)
class Growth:
    """The points for one kind of size, and what each of their numbers is."""

    against: str
    time: str
    memory: str
    points: tuple[Point, ...]

    def words(self) -> str:
        """What a doubling costs, over the whole range and at its end."""
        times = [each.ms for each in self.points]
        *_, before, last = self.points
        first = self.points[0]
        doublings = math.log2(last.size / first.size)
        ends = last.size / before.size
        return (
            f"Twice the {self.against}: {(times[-1] / times[0]) ** (1 / doublings):.2f} times the {self.time} on the "
            f"average, {(last.ms / before.ms) ** (1 / math.log2(ends)):.2f} times at the end; {self.memory} goes from "
            f"{first.mb:,.0f} to {last.mb:,.0f} MB."
        )


def text_of(tokens: int) -> str:
    """A text with a blank that is `tokens` long for the bundled encoder, special tokens included."""
    return "[MASK]" + " lamp" * (tokens - 3)


def read(model: AnyTaskModel, size: int) -> None:
    """Fill a blank in a text of so many tokens, all attention captured."""
    inputs = model.inputs_type(text=text_of(size))
    model.answer(inputs)
    model.attend(inputs)


def written(model: AnyTaskModel, size: int) -> None:
    """Write so many tokens, one after the other, the likeliest each time."""
    state = DecoderState(model.engine, np.array([[model.tokenizer.bos_token_id]]))
    list(write(state, Chooser(GenerationSettings(), size + 1), size))


ALONE: dict[str, tuple[str, Callable[[AnyTaskModel, int], None]]] = {
    "read": ("fill_mask", read),
    "written": ("completion", written),
}
"""What one visitor can ask more of, with the endpoint of its model."""


def point(kind: str, size: int) -> Point:
    """One point, measured in this process."""
    task, action = ALONE[kind]
    model = ModelStore(engine=DEFAULT_SETTINGS).load(find(task))
    action(model, min(TOKENS))
    before = psutil.Process().memory_info().rss
    action(model, size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT_OF_PEAK
    ms = statistics.median(milliseconds(lambda: action(model, size)) for _ in range(RUNS))
    return Point(size, round(ms, 2), round(max(0, peak - before) / 1e6, 1))


def alone(kind: str, sizes: tuple[int, ...]) -> Iterator[Point]:
    """The points for one visitor, a process each."""
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.growth", "--point", kind, str(size)]
        finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
        yield Point(**json.loads(finished.stdout))


def together(sizes: tuple[int, ...]) -> Iterator[Point]:
    """For each number of visitors the median wait for an answer, all five tasks mixed, and the server's memory."""
    with app(**UNHURRIED) as (url, server):
        asyncio.run(gathered(url, our_arguments, VISIT_S, visitors=4))
        for size in sizes:
            crowd = asyncio.run(gathered(url, our_arguments, VISIT_S, visitors=size))
            ms = 1000 * statistics.median(crowd.waits_s)
            yield Point(size, round(ms, 1), round(server.memory_info().rss / 1e6, 1))


def measured() -> Iterator[Growth]:
    """All three."""
    yield Growth("tokens read", "time", "memory beyond the model's", tuple(alone("read", TOKENS)))
    yield Growth("tokens written", "time", "memory beyond the model's", tuple(alone("written", NEW_TOKENS)))
    yield Growth("visitors", "wait", "the server", tuple(together(VISITORS)))


def figure(growths: list[Growth]) -> go.Figure:
    """Time above, memory below, a column for each kind of size; both axes double from mark to mark."""
    titles = [f"{part} against {each.against}" for part in ("Time", "Memory") for each in growths]
    drawn = make_subplots(rows=2, cols=len(growths), subplot_titles=titles, vertical_spacing=0.2)
    for column, growth in enumerate(growths, 1):
        sizes = [each.size for each in growth.points]
        for row, values in enumerate(([each.ms for each in growth.points], [each.mb for each in growth.points]), 1):
            drawn.add_scatter(x=sizes, y=values, mode="lines+markers", line_color="#2a6f97", row=row, col=column)
            drawn.update_xaxes(type="log", tickvals=sizes, ticktext=[str(size) for size in sizes], row=row, col=column)
            unit = "ms" if row == 1 else "MB"
            drawn.update_yaxes(title=unit, rangemode="tozero", row=row, col=column)
        # Every figure from 1 to 9 would be written beside a logarithmic axis; 1, 2 and 5 are enough.
        drawn.update_yaxes(type="log", dtick="D2", row=1, col=column)
    drawn.update_layout(showlegend=False, template="plotly_white", margin={"l": 60, "r": 20, "t": 40, "b": 30}, **SIZE)
    return drawn


def draw(growths: list[Growth], chromium: str, file: Path) -> None:
    """Draw the figure in a browser and keep its picture."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_content(figure(growths).to_html(include_plotlyjs=True, config={"staticPlot": True}))
        page.screenshot(path=file)
        browser.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the points to FILE as well")
    parser.add_argument("--point", nargs=2, metavar=("KIND", "SIZE"), help=f"one point alone: {' or '.join(ALONE)}")
    given = parser.parse_args()
    if given.point:
        kind, size = given.point
        print(json.dumps(asdict(point(kind, int(size)))))
        return
    growths = []
    for growth in measured():
        growths.append(growth)
        print(f"{growth.against:>16}{'ms':>12}{'MB':>10}")
        for each in growth.points:
            print(f"{each.size:>16}{each.ms:>12,.1f}{each.mb:>10,.1f}")
        print(growth.words(), flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(growth) for growth in growths], indent=2) + "\n")
    chromium = shutil.which("chromium")
    if chromium:
        draw(growths, chromium, PICTURE)


if __name__ == "__main__":
    main()
