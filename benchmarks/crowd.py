"""Rows for many visitors at once, through HTTP: ours against a plain Gradio app over transformers."""

import asyncio
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import httpx
import numpy as np

from benchmarks.inputs import INPUTS
from benchmarks.plain_app import TYPED
from benchmarks.processes import OUR_PAGE, started
from benchmarks.work import Sides, Work

VISITORS = 32
SECONDS = 60.0
WARM_UP_S = 10.0
PACE_NEEDED, P95_NEEDED = 0.33, 0.20
PLAIN_PAGE = [sys.executable, "-m", "benchmarks.plain_app"]
REST: dict[str, list[Any]] = {
    "fill_mask": [5, "", ""],
    "sentiment": [""],
    "question_answering": [3, ""],
    "translation": [4, ""],
    "completion": [40, "sample", 0.8, 50, 0.95, 4, 1, ""],
}
"""What our endpoints are given behind the texts: the same settings as the baseline has."""

UNHURRIED = {"CLEARHEAD_RUNS_PER_MINUTE": "1000000"}
"""A visitor here asks faster than a person may."""

TURNS = count(1000)
"""A number for each text, warm-up included: no text comes twice, so that nobody is answered from memory."""

Arguments = Callable[[str, list[str]], list[Any]]
"""The arguments of a task's endpoint, from the texts."""


@dataclass(frozen=True)
class Crowd:
    """How long each answer took, in seconds, and over how long they came."""

    waits_s: tuple[float, ...]
    seconds: float

    @property
    def pace_ms(self) -> float:
        """Milliseconds for an answer, all visitors together."""
        return 1000 * self.seconds / len(self.waits_s)

    @property
    def p95_s(self) -> float:
        """The wait that one in twenty exceeds."""
        return float(np.quantile(self.waits_s, 0.95))


def plain_arguments(_task: str, texts: list[str]) -> list[Any]:
    """What the plain app's endpoint is called with."""
    return list(texts)


def our_arguments(task: str, texts: list[str]) -> list[Any]:
    """What our endpoint of a task is called with."""
    return [*texts, *REST[task]]


async def visit(url: str, number: int, arguments: Arguments, ends_s: float, waits_s: list[float]) -> None:
    """One visitor, who asks something new as soon as there is an answer, from an address of its own."""
    chance = random.Random(number)
    headers = {"X-Forwarded-For": f"10.0.0.{number + 1}"}
    async with httpx.AsyncClient(base_url=f"{url}gradio_api/", timeout=300, headers=headers) as client:
        for turn in TURNS:
            task = chance.choice(list(INPUTS))
            typed = [f"{value} {turn}" for field, value in INPUTS[task].items() if field in TYPED]
            began = time.monotonic()
            call = {"data": arguments(task, typed), "session_hash": f"visitor{number}"}
            begun = await client.post(f"call/{task}", json=call)
            if begun.status_code == 429:
                await asyncio.sleep(float(begun.headers["retry-after"]))
                continue
            told = await client.get(f"call/{task}/{begun.raise_for_status().json()['event_id']}")
            if "event: complete" not in told.text:
                raise RuntimeError(f"{task}: {told.text}")
            if time.monotonic() > ends_s:
                return
            waits_s.append(time.monotonic() - began)


async def gathered(url: str, arguments: Arguments, seconds: float, visitors: int = VISITORS) -> Crowd:
    """All visitors at once; answers that come too late do not count."""
    waits_s: list[float] = []
    ends_s = time.monotonic() + seconds
    await asyncio.gather(*(visit(url, number, arguments, ends_s, waits_s) for number in range(visitors)))
    return Crowd(tuple(waits_s), seconds)


@cache
def crowds() -> tuple[Crowd, Crowd]:
    """The baseline's visitors and ours, one app after the other; both rows are of the same visits."""

    def served(command: list[str], arguments: Arguments) -> Crowd:
        with started(command, **UNHURRIED) as url:
            asyncio.run(gathered(url, arguments, WARM_UP_S))
            return asyncio.run(gathered(url, arguments, SECONDS))

    return served(PLAIN_PAGE, plain_arguments), served(OUR_PAGE, our_arguments)


def pace() -> Sides:
    """Milliseconds for an answer."""
    plain, ours = crowds()
    while True:
        yield plain.pace_ms, ours.pace_ms


def longest_waits() -> Sides:
    """The 95th percentile of waits."""
    plain, ours = crowds()
    while True:
        yield plain.p95_s, ours.p95_s


WORKS = (
    Work(f"{VISITORS} visitors, time an answer takes", "ms", PACE_NEEDED, pace, runs=1),
    Work(f"{VISITORS} visitors, p95", "s", P95_NEEDED, longest_waits, runs=1),
)
