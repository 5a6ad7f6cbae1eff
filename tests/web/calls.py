"""Call the app as its page does, as curl does, and as an attacker would."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx

from tests.api.server import Server

PATIENCE_S = 120

LONG_TEXT = " ".join(
    f"A {who} is sleeping on the {where}."
    for who in ("dog", "cat", "boy", "girl", "man", "woman", "baby", "horse", "bird", "cow", "sheep", "duck")
    for where in ("sofa", "bed", "grass", "floor", "roof", "beach", "bench", "boat", "train", "stairs", "bridge")
)
"""Sentences to translate, no two alike: a run of some seconds."""


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until `true()`; fail with the message `what` if it never is."""
    ends = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


@dataclass(frozen=True)
class Page:
    """The page's own events, found in its configuration by the types of their inputs and outputs."""

    server: Server
    session_hash: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = httpx.get(f"{self.server.url}config", timeout=PATIENCE_S).json()
        return config

    def event(self, target: str, inputs: tuple[str, ...], outputs: tuple[str, ...] | None = None) -> int:
        """The number of the first event on `target` with these input types, and these types of its first outputs."""
        config = self.config
        types = {each["id"]: each["type"] for each in config["components"]}
        for each in config["dependencies"]:
            kinds = tuple(types[part] for part in each["inputs"])
            gives = tuple(types[part] for part in each["outputs"])
            if (
                any(kind == target for _, kind in each["targets"])
                and kinds == inputs
                and (outputs or ()) == gives[: len(outputs or ())]
            ):
                return int(each["id"])
        raise AssertionError(f"no {target} event takes {inputs}")

    def now(self, event: int, data: list[Any], event_data: Any = None) -> Any:
        """The answer of an event that is not queued."""
        body = {"fn_index": event, "data": data, "session_hash": self.session_hash, "event_data": event_data}
        answer = httpx.post(f"{self.server.url}gradio_api/run/predict", json=body, timeout=PATIENCE_S)
        return answer.raise_for_status().json()["data"]

    def queued(self, event: int, data: list[Any]) -> dict[str, Any]:
        """The last message of an event that is queued."""
        body = {"fn_index": event, "data": data, "session_hash": self.session_hash}
        address = f"{self.server.url}gradio_api/queue/join"
        httpx.post(address, json=body, headers=self.headers, timeout=PATIENCE_S).raise_for_status()
        for message in messages(self.server, self.session_hash):
            if message["msg"] == "process_completed":
                return message
        raise AssertionError("the event was not completed")


def messages(server: Server, session_hash: str) -> Any:
    """The messages of a session's stream, one by one."""
    address = f"{server.url}gradio_api/queue/data"
    with httpx.stream("GET", address, params={"session_hash": session_hash}, timeout=PATIENCE_S) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def called(server: Server, endpoint: str, data: list[Any], session_hash: str | None = None) -> httpx.Response:
    """Post a call of an endpoint; the response names the event to fetch."""
    # httpx would refuse to encode values that JSON lacks, such as NaN.
    body = json.dumps({"data": data} | ({"session_hash": session_hash} if session_hash else {}))
    headers = {"content-type": "application/json"}
    return httpx.post(f"{server.url}gradio_api/call/{endpoint}", content=body, headers=headers, timeout=PATIENCE_S)


@cache
def number_of(server: Server, endpoint: str) -> int:
    """The number of an endpoint's event in the page's configuration."""
    config = httpx.get(f"{server.url}config", timeout=PATIENCE_S).json()
    return next(int(each["id"]) for each in config["dependencies"] if each["api_name"] == endpoint)


def cancel(server: Server, endpoint: str, call: httpx.Response, session_hash: str) -> httpx.Response:
    """Cancel an accepted call, as the page does when a visitor presses Stop."""
    body = {"session_hash": session_hash, "fn_index": number_of(server, endpoint), "event_id": call.json()["event_id"]}
    return httpx.post(f"{server.url}gradio_api/cancel", json=body, timeout=PATIENCE_S)


def outcome(server: Server, endpoint: str, call: httpx.Response) -> tuple[str, Any]:
    """Fetch the event stream of a call; return its last event and that event's data."""
    event_id = call.raise_for_status().json()["event_id"]
    address = f"{server.url}gradio_api/call/{endpoint}/{event_id}"
    lines = [line for line in httpx.get(address, timeout=PATIENCE_S).text.splitlines() if line]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    last = [(event.removeprefix("event: "), data.removeprefix("data: ")) for event, data in pairs][-1]
    return last[0], json.loads(last[1])
