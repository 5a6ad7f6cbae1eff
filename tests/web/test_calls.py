"""The short way of an endpoint's call says what Gradio's own routes say, and keeps to the line."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import gradio as gr
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from demo.endpoint import add_endpoint
from demo.settings import MODEL_QUEUE
from demo.web.calls import Calls
from demo.web.prompt_queue import make_prompt
from models.errors import InputError
from tests.api.server import free_port
from tests.web.calls import PATIENCE_S

_AT_ONCE = 2
_GIVEN: list[Any] = ["plain", "ça va, “naïve” 𝄞 \u2028 \x85", "", 5, None, [1, {"a": [2.5, True]}], {"path": 1}]


class _Endpoints:
    """What the app under test offers, and what happened to it."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.at_once = self.most_at_once = 0
        self.held: list[Any] = []
        self._lock = threading.Lock()

    def echo(self, request: gr.Request, value: Any) -> list[Any]:
        """Say it again, with the session that asked."""
        return [value, request.session_hash]

    def refuse(self, value: Any) -> str:
        """Refuse it."""
        raise InputError(f"No “{value}” here.")

    def repeat(self, request: gr.Request, value: str, times: int = 2) -> str:
        """Say it several times."""
        return value * times

    def hold(self, value: Any) -> Any:
        """Wait for a sign."""
        with self._lock:
            self.held.append(value)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.go.wait(PATIENCE_S)
        with self._lock:
            self.at_once -= 1
        return value


@contextmanager
def _served(endpoints: _Endpoints, prompt: bool = True) -> Iterator[httpx.Client]:
    """An app with these endpoints; unless it is prompt, with Gradio's own queue and routes."""
    with gr.Blocks() as blocks:
        for endpoint in (endpoints.echo, endpoints.refuse, endpoints.hold, endpoints.repeat):
            add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=_AT_ONCE)
    layers = []
    if prompt:
        make_prompt(blocks)
        layers = [Middleware(Calls, blocks=blocks, most_bytes=100_000)]
    app = gr.mount_gradio_app(FastAPI(middleware=layers), blocks, path="/", ssr_mode=False)
    port = free_port()
    running = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/gradio_api/", timeout=PATIENCE_S) as client:
            yield client
    finally:
        endpoints.go.set()
        running.should_exit = True
        thread.join()


def _begun(client: httpx.Client, name: str, value: Any, session: str | None = None) -> str:
    call = {"data": [value]} | ({"session_hash": session} if session else {})
    return str(client.post(f"call/{name}", json=call).raise_for_status().json()["event_id"])


def _told(client: httpx.Client, name: str, event_id: str) -> tuple[str, Any]:
    event, data = client.get(f"call/{name}/{event_id}").text.removesuffix("\n\n").split("\n")
    return event, json.loads(data.removeprefix("data: "))


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with _served(_Endpoints()) as client:
        yield client


def test_it_says_what_gradio_says(client: httpx.Client) -> None:
    with _served(_Endpoints(), prompt=False) as plain:
        for name in ("echo", "refuse"):
            for value in _GIVEN:
                ours, theirs = (_told(each, name, _begun(each, name, value, "a session")) for each in (client, plain))
                assert ours == theirs


@pytest.mark.parametrize(("data", "said"), [(["a"], "aa"), (["a", 3], "aaa")])
def test_what_is_left_out_at_the_end_has_its_default(client: httpx.Client, data: list[Any], said: str) -> None:
    event_id = client.post("call/repeat", json={"data": data}).raise_for_status().json()["event_id"]
    assert _told(client, "repeat", event_id) == ("event: complete", [said])


def test_what_has_no_default_cannot_be_left_out(client: httpx.Client) -> None:
    posted = client.post("call/repeat", json={"data": []})
    assert posted.status_code == 422 or _told(client, "repeat", posted.json()["event_id"])[0] == "event: error"


def test_a_call_without_a_session_has_its_own(client: httpx.Client) -> None:
    event_id = _begun(client, "echo", "a")
    assert _told(client, "echo", event_id) == ("event: complete", [["a", event_id]])


def test_every_call_of_a_session_gets_its_own_answer(client: httpx.Client) -> None:
    events = [_begun(client, "echo", number, "one session") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda event_id: _told(client, "echo", event_id), reversed(events)))
    assert [data[0][0] for _, data in said] == list(reversed(range(8)))


def test_an_answer_is_text_that_no_reader_of_lines_breaks(client: httpx.Client) -> None:
    event_id = _begun(client, "echo", "\u2028\x85 é")
    assert client.get(f"call/echo/{event_id}").content.isascii()


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"data": "x"}', b'{"data": []}'])
def test_what_is_no_plain_call_is_gradios_to_refuse(client: httpx.Client, body: bytes) -> None:
    posted = client.post("call/echo", content=body, headers={"content-type": "application/json"})
    if posted.status_code == 200:
        assert _told(client, "echo", posted.json()["event_id"])[0] == "event: error"
    else:
        assert posted.status_code == 422


def test_no_more_run_at_once_than_may_and_all_are_answered() -> None:
    endpoints = _Endpoints()
    with _served(endpoints) as client, ThreadPoolExecutor(12) as pool:
        events = [_begun(client, "hold", number, f"session {number}") for number in range(12)]
        said = [pool.submit(_told, client, "hold", event_id) for event_id in events]
        while endpoints.at_once < _AT_ONCE:
            time.sleep(0.01)
        endpoints.go.set()
        assert [each.result() for each in said] == [("event: complete", [number]) for number in range(12)]
    assert endpoints.most_at_once == _AT_ONCE


def test_whoever_leaves_the_line_is_not_run_and_who_cancels_is_told() -> None:
    endpoints = _Endpoints()
    with _served(endpoints) as client, ThreadPoolExecutor(3) as pool:
        running = [_begun(client, "hold", number) for number in range(_AT_ONCE)]
        left, cancelled = _begun(client, "hold", "left"), _begun(client, "hold", "cancelled", "who cancels")
        with client.stream("GET", f"call/hold/{left}"):
            pass
        waits = pool.submit(_told, client, "hold", cancelled)
        client.post("cancel", json={"session_hash": "who cancels", "fn_index": 2, "event_id": cancelled})
        assert waits.result() == ("event: complete", None)
        endpoints.go.set()
        assert [_told(client, "hold", each)[0] for each in running] == ["event: complete"] * _AT_ONCE
        assert _told(client, "hold", _begun(client, "hold", "the last")) == ("event: complete", ["the last"])
    # Those who began at once may have come in either order.
    assert [*sorted(endpoints.held[:-1]), endpoints.held[-1]] == [*range(_AT_ONCE), "the last"]


def test_whoever_listens_to_the_session_hears_the_answer(client: httpx.Client) -> None:
    event_id = _begun(client, "echo", "heard", "a session that listens")
    with client.stream("GET", "queue/data", params={"session_hash": "a session that listens"}) as stream:
        for line in stream.iter_lines():
            message = json.loads(line.removeprefix("data: ")) if line else {}
            if message.get("msg") == "process_completed":
                break
    assert message["event_id"] == event_id and message["output"]["data"] == [["heard", "a session that listens"]]
