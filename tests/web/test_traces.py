"""Traces tell the host's collector where the time of a run went, and nothing of the visitor who asked."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from demo.settings import SettingError
from demo.web import traces
from tests.api.server import ROOT, Server, free_port, serving
from tests.web.calls import PATIENCE_S, Page, called, outcome, until
from tests.web.collector import Collector, Sent, collecting

_TEXT = "Quibbleflax adored the marmalade zeppelin."
_ADDRESS, _SESSION = "203.0.113.77", "a visitor called snorkelwort"
_PER_MINUTE = 12
_SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def traced(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"CLEARHEAD_TRACES": collector.url, "CLEARHEAD_RUNS_PER_MINUTE": str(_PER_MINUTE)}
    # FastAPI's own spans, which a host might wish for, would name sessions.
    automatic = {"FASTAPI_OTEL_AUTO_CONFIGURE": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    with serving(tmp_path_factory.mktemp("traced"), **settings, **automatic, **_SOON) as running:
        yield running


def _ask(server: Server, endpoint: str, data: list[Any], session: str = _SESSION, **headers: str) -> httpx.Response:
    address = f"{server.url}gradio_api/call/{endpoint}"
    told = {"X-Forwarded-For": _ADDRESS, **headers}
    return httpx.post(address, json={"data": data, "session_hash": session}, headers=told, timeout=PATIENCE_S)


def _tree(spans: list[Sent]) -> dict[str, str]:
    """The name of each span's parent by its own name; a call's is ""."""
    names = {each.id: each.name for each in spans}
    return {each.name: names.get(each.parent, "") for each in spans}


def _of(spans: list[Sent], name: str) -> Sent:
    (found,) = [each for each in spans if each.name == name]
    return found


def _private(collector: Collector) -> list[bytes]:
    """What was sent of a visitor."""
    secrets = (_TEXT, *_TEXT.rstrip(".").split(), _ADDRESS, _SESSION, "snorkelwort", "127.0.0.1", "Please")
    # Of the text's words only those that stand in no sentence of ours.
    meant = [each.encode() for each in secrets if each not in ("the", "adored")]
    return [each for each in meant for body in collector.bodies if each in body]


def test_a_run_is_one_trace_from_the_call_through_the_line_and_the_model_to_the_log(
    traced: Server, collector: Collector
) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"traceparent": parent, "tracestate": f"proxy={_SESSION.replace(' ', '')}"}
    event, (answer,) = outcome(traced, "sentiment", _ask(traced, "sentiment", [_TEXT, ""], **headers))
    assert event == "complete"
    spans = collector.trace_with("answer", run_id=answer["run_id"])
    call = "POST /gradio_api/call/sentiment"
    assert _tree(spans) == {
        call: "", "wait": call, "handle": call, "load": "handle", "answer": "handle", "log": "handle"
    }  # fmt: skip
    assert {each.trace for each in spans} == {parent.split("-")[1]} and _of(spans, call).parent == parent.split("-")[2]
    assert not any(each.failed or each.said for each in spans)
    used = answer["checkpoint"]
    assert _of(spans, "answer").attributes == {
        "clearhead.task": "sentiment",
        "clearhead.checkpoint": used["name"],
        "clearhead.engine": used["engine"],
        "clearhead.precision": used["precision"],
        "clearhead.run_id": answer["run_id"],
    }
    assert _of(spans, "handle").attributes == {"clearhead.handler": "sentiment"}
    begins = [_of(spans, each).begin for each in (call, "wait", "handle", "load", "answer", "log")]
    assert begins == sorted(begins) and _of(spans, "log").end <= _of(spans, "handle").end
    assert _of(spans, "wait").end <= _of(spans, "handle").begin
    looked = _ask(traced, "attention", [answer["run_id"]])
    assert outcome(traced, "attention", looked)[0] == "complete"
    spans = collector.trace_with("look", task="sentiment")
    call = "POST /gradio_api/call/attention"
    assert _tree(spans) == {call: "", "wait": call, "handle": call, "look": "handle"}
    assert _private(collector) == []


def test_a_run_that_streams_to_the_page_is_one_trace(traced: Server, collector: Collector) -> None:
    page = Page(traced, _SESSION, {"X-Forwarded-For": _ADDRESS})
    write = page.event("click", ("browserstate", "dropdown", "textbox", "slider"))
    assert page.queued(write, ["", "clearhead-en-fr", _TEXT, 2])["success"]
    spans = collector.trace_with("answer", task="translation")
    call = "POST /gradio_api/queue/join"
    assert _tree(spans) == {
        call: "", "wait": call, "handle": call, "load": "handle", "answer": "handle", "log": "handle"
    }  # fmt: skip
    assert _of(spans, "answer").attributes.keys() >= {"clearhead.engine", "clearhead.precision"}
    assert not any(each.failed for each in spans)
    assert _private(collector) == []


def test_a_run_that_fails_says_of_what_kind_the_failure_is(traced: Server, collector: Collector) -> None:
    fails = [
        ("sentiment", [_TEXT * 200, ""], "InputError"),
        ("translation", [_TEXT, 4, _TEXT], "CheckpointUnavailable"),
    ]
    for endpoint, data, kind in fails:
        assert outcome(traced, endpoint, _ask(traced, endpoint, data))[0] == "error"
        until(lambda kind=kind: kind in _kinds(collector.spans), f"no span failed of {kind}")
    failed = [each for each in collector.spans if each.failed]
    assert {each.name for each in failed} == {"handle"} and not any(each.said for each in failed)
    assert _private(collector) == []


def _kinds(spans: list[Sent]) -> set[str]:
    return {each.attributes["error.type"] for each in spans if each.failed}


def test_a_run_that_is_refused_says_which_limit_it_met(traced: Server, collector: Collector) -> None:
    hasty = f"{_SESSION}, in a hurry"
    answers = [_ask(traced, "fill_mask", ["", "", 1, ""], hasty) for _ in range(_PER_MINUTE + 1)]
    statuses = [each.status_code for each in answers]
    assert statuses[-1] == 429
    until(lambda: "POST /gradio_api/call/fill_mask" in {each.name for each in collector.spans if each.failed}, "none")
    refused = [each for each in collector.spans if each.failed and each.name.startswith("POST")]
    assert {each.attributes["error.type"] for each in refused} <= {"runs per minute", "runs at once"}
    # Nothing of a call that was refused was handled.
    assert not [each for each in collector.spans if each.parent in {call.id for call in refused}]
    assert _private(collector) == []


def test_the_message_of_an_unforeseen_error_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_collector", None)
    with collecting() as here:
        traces.set_up(here.url)
        call: Any = {"type": "http", "method": "POST", "path": "/gradio_api/call/sentiment", "headers": []}
        with pytest.raises(OSError, match="Quibble"), traces.of_call(call) as scope, traces.handling(scope, "it", 0.5):
            try:
                with traces.span("answer", task="sentiment"):
                    raise KeyError(_TEXT)
            except KeyError as error:
                raise OSError(_TEXT) from error
        traces.close()
        kinds = {each.name: each.attributes.get("error.type") for each in here.spans}
        # What lies behind a sentence for visitors is what went wrong.
        assert kinds == {
            call["method"] + " " + call["path"]: "KeyError",
            "wait": None,
            "handle": "KeyError",
            "answer": "KeyError",
        }
        assert _of(here.spans, "wait").end - _of(here.spans, "wait").begin == 500_000_000
        assert _private(here) == []


def test_runs_go_on_while_the_collector_is_away_and_the_log_says_so_once(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, CLEARHEAD_TRACES=f"http://127.0.0.1:{port}", **_SOON) as server:

        def run(text: str) -> None:
            assert outcome(server, "sentiment", called(server, "sentiment", [text, ""]))[0] == "complete"

        def lines() -> list[str]:
            return [line for line in server.output.read_text().splitlines() if "Running on" not in line]

        run("Fine.")
        until(lambda: lines() != [], "the log says nothing")
        for text in ("Good.", "Bad.", "Mixed."):
            run(text)
            # Longer than what was ended is kept before it is sent.
            time.sleep(0.3)
        assert len(lines()) == 1 and "traces are lost" in lines()[0]
        with collecting(port) as collector:

            def sent() -> bool:
                run(f"Is it back, {time.monotonic()}?")
                return len(collector.bodies) > 0

            until(sent, "traces were not sent again")
            until(lambda: len(lines()) == 2, "the log does not say that traces are sent again")
            assert "traces are sent again" in lines()[1]
            # What has ended is sent before the process ends.
            run("The last one.")
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(PATIENCE_S)
            begun = sum(each.name.startswith("POST") for each in collector.spans[-6:])
            assert begun == 1 and collector.spans[-1].name == "handle"


@pytest.mark.parametrize("address", ["collector:4318", "ftp://collector", "http://", "yes"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(SettingError, match=r"CLEARHEAD_TRACES must be the address of a collector"):
        traces.set_up(address)


_WITHOUT_PACKAGES = """
import sys
sys.modules["opentelemetry.sdk"] = None
sys.argv = ["app.py"]
import runpy
runpy.run_path("app.py", run_name="__main__")
"""


def test_the_host_is_told_which_packages_are_missing() -> None:
    environment = os.environ | {"CLEARHEAD_TRACES": "http://localhost:4318"}
    command = [sys.executable, "-c", _WITHOUT_PACKAGES]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)  # noqa: S603
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "pip install -r requirements-traces.txt" in done.stderr


def test_without_a_collector_nothing_that_makes_traces_is_imported() -> None:
    command = [sys.executable, "-c", "import sys, app; print(*sys.modules)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    imported = set(done.stdout.split())
    # FastAPI imports the interface by itself, by which alone nothing is made or sent.
    makers = {"demo.web.collector", "opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto"}
    assert "demo.web.traces" in imported and not imported & makers
