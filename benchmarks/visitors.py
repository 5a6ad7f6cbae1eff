"""Shared by the benchmarks: typical inputs, the app in a process of its own, and visitors who call it over HTTP."""

import asyncio
import json
import os
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[1]
OUR_PAGE = [sys.executable, "app.py"]
UNHURRIED = {"CLEARHEAD_RUNS_PER_MINUTE": "1000000", "CLEARHEAD_RUNS_AT_ONCE": "1000"}
"""Settings without rate limits: these visitors ask faster than a person may."""

STARTS_WITHIN_S = 180.0
PATIENCE_S = 300.0
LONGEST_PAUSE_S = 5.0

INPUTS: dict[str, dict[str, object]] = {
    "fill_mask": {"text": "The old keeper climbed the [MASK] every evening and lit the lamp for the boats."},
    "sentiment": {"text": "A quiet, generous film that takes its time and never once raises its voice."},
    "question_answering": {
        "question": "Who lit the lamp?",
        "context": "The lighthouse stood at the end of the pier. Its keeper, Ada Quist, climbed the stairs every "
        "evening and lit the lamp. When a storm came over the hills, the boats turned home and the market closed. "
        "In the morning the sea was calm again, and bread, cheese and apples were sold until noon.",
    },
    "names": {
        "text": "The old keeper of the lighthouse, Ada Quist, moved from Lisbon to Norway in the spring of 1921."
    },
    "sentence_pair": {
        "a": "The old keeper climbed the stairs every evening and lit the lamp for the boats.",
        "b": "When the storm came over the hills, every boat found its way home.",
    },
    "translation": {"text": "The children are playing in the garden because the weather is nice today."},
    "completion": {"prompt": "Once upon a time there was a", "max_new_tokens": 40, "seed": 1},
}
"""A typical input for each task, by its endpoint."""

TYPED = ("text", "question", "context", "prompt", "a", "b")
"""The fields that a visitor types; the others are as in the typical input."""

SETTINGS: dict[str, list[Any]] = {
    "fill_mask": [5, "", ""],
    "sentiment": [""],
    "question_answering": [3, ""],
    "names": [""],
    "sentence_pair": [""],
    "translation": [4, ""],
    "completion": [40, "sample", 0.8, 50, 0.95, 4, 1, ""],
}
"""The arguments of our endpoints after the texts: the same settings as the baseline's."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True)
class Served:
    """A page that answers at `url`, and its process."""

    url: str
    process: psutil.Process


@contextmanager
def served(command: list[str] = OUR_PAGE, settings: dict[str, str] | None = None) -> Iterator[Served]:
    """Run `command` under `settings` with a database of its own, yield the page once it answers, and kill it after."""
    port = int((settings or {}).get("CLEARHEAD_PORT") or free_port())
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "CLEARHEAD_HOST": "127.0.0.1",
            "CLEARHEAD_PORT": str(port),
            "CLEARHEAD_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite3",
            "GRADIO_ANALYTICS_ENABLED": "False",
            "GRADIO_SERVER_PORT": str(port),
            "HF_HUB_OFFLINE": "1",
        }
        log = Path(folder) / "output.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                command, cwd=ROOT, env=environment | (settings or {}), stdout=output, stderr=output
            )
        try:
            url = f"http://127.0.0.1:{port}/"
            ends = time.monotonic() + STARTS_WITHIN_S
            while not _is_there(url):
                if process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"{command} did not start:\n{log.read_text()}")
                time.sleep(0.01)
            yield Served(url, psutil.Process(process.pid))
        finally:
            process.kill()
            process.wait()


def _is_there(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as page:  # noqa: S310
            return bool(page.status == 200)
    except OSError:
        return False


class TurnedAwayError(Exception):
    """The app refused a call with status 429; `seconds` says when to come back."""

    def __init__(self, sentence: str, seconds: float) -> None:
        super().__init__(sentence)
        self.seconds = seconds


async def call(client: httpx.AsyncClient, endpoint: str, data: list[Any], session: str | None = None) -> Any:
    """The answer of an endpoint; raises `TurnedAwayError`, and `RuntimeError` for any other failure."""
    begun = await client.post(f"gradio_api/call/{endpoint}", json={"data": data, "session_hash": session})
    if begun.status_code == 429:
        raise TurnedAwayError(begun.json()["detail"], float(begun.headers["retry-after"]))
    if begun.status_code != 200:
        raise RuntimeError(f"{endpoint}: {begun.status_code} {begun.text}")
    stream = await client.get(f"gradio_api/call/{endpoint}/{begun.json()['event_id']}")
    lines = [line for line in stream.text.splitlines() if line]
    events = dict(zip(lines[::2], lines[1::2], strict=False))
    if "event: complete" not in events:
        raise RuntimeError(f"{endpoint}: {stream.text}")
    return json.loads(events["event: complete"].removeprefix("data: "))[0]


Call = tuple[str, list[Any]]
"""An endpoint and its arguments."""

Calls = Callable[[str, int], list[Call]]
"""The calls to choose from for a visitor's mark and the number of the call: texts are hardly ever repeated."""

LOOKS = ("bright", "calm", "cold", "dark", "dry", "grey", "hot", "long", "quiet", "rainy", "sunny", "windy")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def plain_calls(mark: str, number: int) -> list[Call]:
    """Calls of the plain app with each task's typical input, on one of 9,240 kinds of day."""
    chance = random.Random(f"{mark} {number}")
    looks = chance.sample(LOOKS, 3)
    day = f"On a {looks[0]}, {looks[1]} and {looks[2]} {chance.choice(DAYS)},"

    def on_that_day(text: str) -> str:
        return f"{day} {text[0].lower()}{text[1:]}"

    return [
        (task, [on_that_day(str(value)) for name, value in fields.items() if name in TYPED])
        for task, fields in INPUTS.items()
    ]


def our_calls(mark: str, number: int) -> list[Call]:
    """Calls of our endpoints with the texts of `plain_calls`."""
    return [(task, [*texts, *SETTINGS[task]]) for task, texts in plain_calls(mark, number)]


@dataclass
class Tally:
    """Counts over all visitors: the answers' times in seconds and tasks, refusals and failures by their message."""

    seconds: list[float] = field(default_factory=list)
    by_task: Counter[str] = field(default_factory=Counter)
    busy: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)


class Visitor:
    """One session from one address, which calls one after the other; `answers` holds its answers by run id."""

    def __init__(self, url: str, number: int, calls: Calls, tally: Tally) -> None:
        self.mark = f"visitor{number}x{secrets.token_hex(3)}"
        self.answers: dict[str, dict[str, Any]] = {}
        self._calls, self._tally = calls, tally
        self._session, self._chance = secrets.token_urlsafe(12), random.Random(number)
        # The app trusts this header from a proxy on its own machine, so each visitor has an address.
        address = {"X-Forwarded-For": f"10.0.{number // 250}.{number % 250 + 1}"}
        self.client = httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, headers=address)

    async def visit(self, goes_on: Callable[[], bool], pause_s: float = 0.0) -> None:
        """Call while `goes_on`, with mean pauses of `pause_s` seconds; answers that come later are not counted."""
        number = 0
        while goes_on():
            number += 1
            endpoint, data = self._chance.choice(self._calls(self.mark, number))
            began = time.monotonic()
            answer = await self.ask(endpoint, data)
            if answer is not None:
                self.answers[answer.get("run_id", "")] = answer
            if answer is not None and goes_on():
                self._tally.seconds.append(time.monotonic() - began)
                self._tally.by_task[endpoint] += 1
            await asyncio.sleep(self._chance.uniform(0, 2 * pause_s))

    async def ask(self, endpoint: str, data: list[Any]) -> Any:
        """The answer; `None` after a failure, which is counted, or when turned away, after the wait asked for."""
        try:
            return await call(self.client, endpoint, data, self._session)
        except TurnedAwayError as away:
            self._tally.busy[str(away).split(":")[0].split(".")[0]] += 1
            await asyncio.sleep(min(away.seconds, LONGEST_PAUSE_S))
        except (httpx.HTTPError, RuntimeError, ValueError) as error:
            # The first hundred characters tell kinds of failure apart.
            self._tally.failures[f"{endpoint}: {error!r}"[:100]] += 1
        return None


async def crowd(url: str, calls: Calls, seconds: float, visitors: int) -> list[float]:
    """The seconds that each answer took, for this number of visitors who call again as soon as they are answered."""
    tally, ends = Tally(), time.monotonic() + seconds
    everybody = [Visitor(url, number, calls, tally) for number in range(visitors)]
    await asyncio.gather(*(visitor.visit(lambda: time.monotonic() < ends) for visitor in everybody))
    await asyncio.gather(*(visitor.client.aclose() for visitor in everybody))
    if tally.failures:
        raise RuntimeError(str(tally.failures))
    return tally.seconds
