"""The host's page and metrics tell how the app fares, to the host alone, and identify no visitor."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from demo.looks import OUR_FAULT
from demo.runs import DemoService
from demo.web.host import Password, Readiness, routes
from demo.web.metrics import DONE, INPUT, OURS, Metrics
from demo.web.rate_limits import RateLimits
from demo.web.visitors import Visitors
from models.registry import REGISTRY
from tests.api.server import Server
from tests.log.runs import failed_run, finished_run
from tests.web.calls import PATIENCE_S, called, outcome
from tests.web.conftest import PASSWORD


def _get(server: Server, path: str, password: str | None = PASSWORD) -> httpx.Response:
    auth = ("host", password) if password is not None else None
    return httpx.get(f"{server.url}{path}", auth=auth, timeout=PATIENCE_S)


def test_alive_and_ready_need_no_password(server: Server) -> None:
    assert _get(server, "healthz", None).text == "alive"
    ready = _get(server, "readyz", None)
    assert (ready.status_code, ready.json()) == (200, {"database": True, "model": True})


def test_the_hosts_page_tells_runs_latency_failures_memory_and_checksums(server: Server) -> None:
    outcome(server, "sentiment", called(server, "sentiment", ["A fine secret text.", ""], "a counted visitor"))
    outcome(server, "sentiment", called(server, "sentiment", ["", ""], "a counted visitor"))
    page = _get(server, "host")
    assert page.status_code == 200 and page.headers["cache-control"] == "no-store"
    for part in ("Pages opened", "sentiment", "0.95", "the visitor&#x27;s input", "Limits hit", "Memory", "Database"):
        assert part in page.text
    for name, checkpoint in REGISTRY.items():
        assert (name in page.text) == (not checkpoint.hub_id)
    assert page.text.count("<td>missing</td>") == 0
    assert not [said for said in ("A fine secret text", "a counted visitor", "127.0.0.1") if said in page.text]


def test_prometheus_reads_the_metrics(server: Server) -> None:
    text = _get(server, "metrics").text
    samples = [line for line in text.splitlines() if not line.startswith("# ")]
    for sample in samples:
        name, value = sample.rsplit(" ", 1)
        assert name.startswith("clearhead_") and float(value) >= 0
    assert 'clearhead_runs_total{outcome="done",task="sentiment"}' in text
    # Which was answered and which was refused by the model's form: both left the line.
    waited = {name: value for name, _, value in (line.rpartition(" ") for line in samples)}
    assert float(waited["clearhead_wait_seconds_count"]) >= 2
    assert "clearhead_memory_bytes" in text and "clearhead_database_bytes" in text


@pytest.mark.parametrize("path", ["host", "metrics"])
@pytest.mark.parametrize("password", [None, "", "wrong", PASSWORD.upper(), f"{PASSWORD} "])
def test_nobody_else_comes_in(server: Server, path: str, password: str | None) -> None:
    answer = _get(server, path, password)
    # After ten wrong ones even the right one would wait.
    assert answer.status_code in (401, 429)
    assert "clearhead_" not in answer.text and "Latency" not in answer.text


def _status(door: Password, header: str, caller: str) -> int | None:
    return getattr(asyncio.run(door.refusal(header, caller)), "status_code", None)


def test_ten_wrong_passwords_in_a_minute_close_the_door_to_whoever_tried_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    door = Password("right", RateLimits())
    right, wrong = "Basic OnJpZ2h0", "Basic Ondyb25n"
    assert _status(door, right, "the host") is None
    assert [_status(door, wrong, "a stranger") for _ in range(11)] == [401] * 10 + [429]
    assert _status(door, right, "a stranger") == 429
    assert _status(door, right, "the host") is None
    assert _status(door, wrong, "another stranger") == 401
    now[0] = 60.0
    assert _status(door, right, "a stranger") is None


def test_a_strangers_wrong_passwords_do_not_keep_the_host_out(server: Server) -> None:
    for path in ("host", "metrics"):
        stranger = {"headers": {"X-Forwarded-For": "203.0.113.9"}, "auth": ("host", "wrong"), "timeout": PATIENCE_S}
        statuses = [httpx.get(f"{server.url}{path}", **stranger).status_code for _ in range(12)]
        assert statuses[-1] == 429
        host = {"headers": {"X-Forwarded-For": "203.0.113.10"}, "auth": ("host", PASSWORD), "timeout": PATIENCE_S}
        assert httpx.get(f"{server.url}{path}", **host).status_code == 200


@pytest.mark.parametrize("header", ["", "Basic", "Basic %%%", "Bearer OnJpZ2h0", "Basic cmlnaHQ=", "basic " + "A" * 99])
def test_a_header_that_is_no_password_is_none(header: str) -> None:
    assert _status(Password("right", RateLimits()), header, "somebody") == 401


@pytest.mark.parametrize(("works", "for_s"), [(True, 30.0), (False, 2.0)])
def test_asking_often_whether_the_process_is_ready_asks_the_model_once(works: bool, for_s: float) -> None:
    now, asked = [100.0], [0]

    def history(*_: Any, **__: Any) -> tuple[()]:
        asked[0] += 1
        time.sleep(0.01)
        if not works:
            raise OSError("the disk is gone")
        return ()

    service = SimpleNamespace(history=history, history_is_kept=True, model_answers=lambda: True)

    async def ask() -> set[bool]:
        ready = Readiness(cast(DemoService, service), lambda: now[0])
        found = {each["database"] for each in await asyncio.gather(*(ready() for _ in range(100)))}
        now[0] += for_s - 0.1
        found.add((await ready())["database"])
        assert asked == [1]
        now[0] += 0.2
        found.add((await ready())["database"])
        assert asked == [2]
        return found

    assert asyncio.run(ask()) == {works}


def test_without_a_password_the_hosts_page_is_not_there() -> None:
    nothing = cast(Any, None)
    found = routes(nothing, nothing, nothing, None, Visitors(), RateLimits())
    assert {route.path for route in found} == {"/healthz", "/readyz"}


def test_runs_are_counted_by_task_and_outcome_with_their_quantiles() -> None:
    metrics = Metrics()
    value = metrics.registry.get_sample_value
    assert metrics.typical_run_s > 0
    for duration in range(1, 101):
        metrics.ran(finished_run(str(duration), duration_ms=float(duration)))
    metrics.ran(failed_run("refused"))
    metrics.ran(replace(failed_run("failed"), error=OUR_FAULT))
    quantiles = ("0.5", "0.95")
    latency = [value("clearhead_run_duration_milliseconds", {"task": "sentiment", "quantile": q}) for q in quantiles]
    assert latency == [50.0, 95.0] and metrics.typical_run_s == 0.05
    # What took exactly as long as a bucket reaches is in it; failed runs are in none.
    within = {
        each: value("clearhead_run_seconds_bucket", {"task": "sentiment", "le": each}) for each in ("0.05", "+Inf")
    }
    assert within == {"0.05": 50, "+Inf": 100}
    runs = [value("clearhead_runs_total", {"task": "sentiment", "outcome": each}) for each in (DONE, INPUT, OURS)]
    assert runs == [100, 1, 1]
