"""A visitor who marks every text, and tells from its answers and its history whether anybody else's got in."""

import asyncio
import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

_PATIENCE_S = 300.0
_LONGEST_WAIT_S = 5.0


@dataclass
class Tally:
    """What all visitors met: answers and their times in seconds, and how often and in which words they failed."""

    seconds: list[float] = field(default_factory=list)
    by_task: Counter[str] = field(default_factory=Counter)
    busy: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    foreign: int = 0
    lost: int = 0
    checked: int = 0

    def failed(self, what: str) -> None:
        """Something other than an answer or an honest "busy"; the first hundred letters tell kinds apart."""
        self.failures[what[:100]] += 1


Call = tuple[str, list[Any]]
"""An endpoint and its arguments."""

Calls = Callable[[str, int], list[Call]]
"""What a visitor with this mark may call next."""


def mixed(mark: str, number: int) -> list[Call]:
    """A typical call of each task, with the visitor's mark and the number of the call in its text."""
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


class Visitor:
    """One session from one address, with calls one after the other."""

    def __init__(
        self,
        url: str,
        number: int,
        calls: Calls,
        tally: Tally,
        pause_s: float,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.mark = f"visitor{number}x{secrets.token_hex(3)}"
        self._session = secrets.token_urlsafe(12)
        self._random = random.Random(number)
        self._calls, self._tally, self._pause_s = calls, tally, pause_s
        self._answers: dict[str, dict[str, Any]] = {}
        # The app believes this of a proxy on its own machine: so the visitors have an address each.
        address = f"10.0.{number // 250}.{number % 250 + 1}"
        self._client = httpx.AsyncClient(
            base_url=f"{url}gradio_api/",
            timeout=_PATIENCE_S,
            headers={"X-Forwarded-For": address},
            transport=transport,
        )

    async def visit(self, goes_on: Callable[[], bool]) -> None:
        """Call until `goes_on` says no, then look through the history."""
        async with self._client:
            number = 0
            while goes_on():
                number += 1
                await self._run(*self._random.choice(self._calls(self.mark, number)))
                await asyncio.sleep(self._random.uniform(0, 2 * self._pause_s))
            await self._look_through_history()

    async def _run(self, task: str, data: list[Any]) -> None:
        started = time.monotonic()
        try:
            told = await self._call(task, data)
        except (httpx.HTTPError, ValueError) as error:
            self._tally.failed(f"{task}: {error!r}")
            return
        if isinstance(told, float):
            await asyncio.sleep(min(told, _LONGEST_WAIT_S))
        elif isinstance(told, dict):
            self._tally.seconds.append(time.monotonic() - started)
            self._tally.by_task[task] += 1
            self._answers[told["run_id"]] = told

    async def _call(self, endpoint: str, data: list[Any]) -> Any:
        """The answer; or after how many seconds to come back; or nothing, after a failure that is counted."""
        begun = await self._client.post(f"call/{endpoint}", json={"data": data, "session_hash": self._session})
        if begun.status_code == 429:
            self._tally.busy[begun.json()["detail"].split(":")[0].split(".")[0]] += 1
            return float(begun.headers["retry-after"])
        if begun.status_code != 200:
            self._tally.failed(f"{endpoint}: {begun.status_code} {begun.text}")
            return None
        stream = await self._client.get(f"call/{endpoint}/{begun.json()['event_id']}")
        lines = [line for line in stream.text.splitlines() if line]
        events = dict(zip(lines[::2], lines[1::2], strict=False))
        if "event: complete" not in events:
            self._tally.failed(f"{endpoint}: {stream.text}")
            return None
        (answer,) = json.loads(events["event: complete"].removeprefix("data: "))
        return answer

    async def _look_through_history(self) -> None:
        """Every run there is this visitor's; every answer that came is there, as it came."""
        try:
            runs = await self._call("session_runs", [])
            while isinstance(runs, float):
                await asyncio.sleep(min(runs, _LONGEST_WAIT_S))
                runs = await self._call("session_runs", [])
        except (httpx.HTTPError, ValueError) as error:
            self._tally.failed(f"session_runs: {error!r}")
            return
        kept = {run["id"]: run for run in runs or []}
        self._tally.checked += len(kept)
        self._tally.foreign += sum(self.mark not in json.dumps(run["inputs"]) for run in kept.values())
        for run_id, answer in self._answers.items():
            if run_id not in kept:
                self._tally.lost += 1
            elif kept[run_id]["task"] == "sentiment" and kept[run_id]["answer"]["label"] != answer["label"]:
                self._tally.foreign += 1
