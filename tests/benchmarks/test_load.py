"""The visitors of the load test notice what must not be: here against an app that is made up."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from benchmarks.load import Held, Report
from benchmarks.visitor import Tally, Visitor, mixed

_IDLE = Held(0, 1_000.0, 20, 10)


class MadeUpApp:
    """Answers every call, keeps a history, and does one thing wrong if told to."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.runs: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        endpoint = request.url.path.split("/call/")[1].split("/")[0]
        if request.method == "GET":
            answer = (
                self.runs if endpoint == "session_runs" else {"run_id": f"run {len(self.runs)}", "label": "positive"}
            )
            if self.wrong == "broken" and endpoint != "session_runs":
                return httpx.Response(200, text='event: error\ndata: {"error": null}\n\n')
            return httpx.Response(200, text=f"event: complete\ndata: {json.dumps([answer])}\n\n")
        if endpoint == "session_runs":
            return httpx.Response(200, json={"event_id": "1"})
        if self.wrong == "busy":
            return httpx.Response(429, json={"detail": "The line is full: 64."}, headers={"Retry-After": "0"})
        text = json.dumps(json.loads(request.content)["data"])
        number = len(self.runs) + 1
        kept = {"task": endpoint, "inputs": text, "answer": {"label": "positive"}, "id": f"run {number}"}
        if self.wrong == "foreign":
            kept["inputs"] = "somebody else's"
        if self.wrong == "lost":
            kept["id"] = "another"
        self.runs.append(kept)
        return httpx.Response(200, json={"event_id": "1"})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("", {}),
        ("foreign", {"foreign": 3}),
        ("lost", {"lost": 3}),
        ("busy", {"busy": {"The line is full": 3}}),
        ("broken", {"failures": 3, "answers": 0}),
    ],
)
def test_a_visitor_notices(wrong: str, told: dict[str, Any]) -> None:
    tally = Tally()
    calls_left = iter([True] * 3 + [False])
    transport = httpx.MockTransport(MadeUpApp(wrong))
    visitor = Visitor("http://app/", 1, mixed, tally, 0, transport)
    asyncio.run(visitor.visit(lambda: next(calls_left)))
    assert tally.foreign == told.get("foreign", 0)
    assert tally.lost == told.get("lost", 0)
    assert tally.busy == told.get("busy", {})
    assert sum(tally.failures.values()) == told.get("failures", 0)
    assert len(tally.seconds) == told.get("answers", 0 if wrong == "busy" else 3)


@pytest.mark.parametrize(
    ("change", "met"),
    [
        ({}, True),
        ({"answers": 0}, False),
        ({"failures": {"sentiment: 500": 1}}, False),
        ({"foreign": 1}, False),
        ({"lost": 1}, False),
        ({"busy": {"The line is full": 9}}, True),
        ({"after": Held(9, 1_051.0, 20, 10)}, False),
        ({"after": Held(9, 1_049.0, 21, 10)}, False),
    ],
)
def test_the_report_says_whether_all_is_as_it_must_be(change: dict[str, Any], met: bool) -> None:
    figures = {
        "visitors": 1, "seconds": 1.0, "answers": 9, "by_task": {}, "busy": {}, "failures": {}, "runs_checked": 9,
        "foreign": 0, "lost": 0, "p50_s": 0.1, "p95_s": 0.2, "before": _IDLE, "after": _IDLE,
    }  # fmt: skip
    assert Report(**figures | change).met is met
