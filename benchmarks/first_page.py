"""Benchmarks of a whole process: the time to its first page and to its first answer, and its memory."""

import asyncio
import json
import subprocess
import sys
import time

import httpx

from benchmarks.visitors import INPUTS, ROOT, SETTINGS, call, served
from benchmarks.work import Sides, Work

MEMORY_MB = 650
FIRST_ANSWER_S = 1.0
ONE_LINE = "import gradio; gradio.Interface(lambda text: text, 'text', 'text').launch(quiet=True)"
USE_ALL = f"""
import json, psutil
from models.registry import find
from models.engine import DEFAULT_SETTINGS
from models.loading.store import ModelStore
store = ModelStore(engine=DEFAULT_SETTINGS)
for task, fields in json.loads({json.dumps(json.dumps(INPUTS))}).items():
    store.load(find(task))(**fields)
print(psutil.Process().memory_info().rss)
"""


def first_page() -> Sides:
    """Seconds from starting the process to the first page, against a one-line Gradio app."""
    while True:
        began = time.perf_counter()
        with served([sys.executable, "-c", ONE_LINE]):
            theirs = time.perf_counter() - began
        began = time.perf_counter()
        with served():
            yield theirs, time.perf_counter() - began


def first_answer() -> Sides:
    """Seconds from the first page to the answer to a call made at once, against the limit."""

    async def ask(url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            await call(client, "fill_mask", [*INPUTS["fill_mask"].values(), *SETTINGS["fill_mask"]])

    while True:
        with served() as page:
            began = time.perf_counter()
            asyncio.run(ask(page.url))
            yield FIRST_ANSWER_S, time.perf_counter() - began


def memory() -> Sides:
    """The resident memory in MB of a process that has loaded and used all bundled models, against the limit."""
    while True:
        finished = subprocess.run([sys.executable, "-c", USE_ALL], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
        yield MEMORY_MB, int(finished.stdout) / 1e6


WORKS = (
    Work("first page", "s", 1.5, first_page, runs=15),
    Work("first answer", "s", 1.0, first_answer, runs=15),
    Work("memory of the five bundled models", "MB", 1.0, memory, runs=1),
)
