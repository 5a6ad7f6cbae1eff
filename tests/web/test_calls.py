"""The short way of an endpoint's call says what Gradio's own routes say, and keeps to the line."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
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
from demo.web.sending import Sending
from demo.web.unfetched import Unfetched
from models.errors import InputError
from tests.api.server import free_port
from tests.web.calls import PATIENCE_S

_AT_ONCE = 2
_REPEAT = 3
"""The number of the last endpoint of the app under test."""

_MOST_BYTES, _WAITS_S = 5_000_000, 1.0
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
def _served(endpoints: _Endpoints, prompt: bool = True, unfetched: Unfetched | None = None) -> Iterator[httpx.Client]:
    """An app with these endpoints; unless it is prompt, with Gradio's own queue and routes."""
    with gr.Blocks() as blocks:
        for endpoint in (endpoints.echo, endpoints.refuse, endpoints.hold, endpoints.repeat):
            add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=_AT_ONCE)
    layers = []
    if prompt:
        make_prompt(blocks, unfetched or Unfetched())
        layers = [Middleware(Calls, blocks=blocks, most_bytes=100_000)]
    if unfetched:
        layers.insert(0, Middleware(Sending, unfetched=unfetched, most_s=_WAITS_S))
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


def _joined(client: httpx.Client, session: str, value: str, times: int = 2) -> str:
    """The event of a call through Gradio's own route, whose answer goes to the stream of its session."""
    call = {"fn_index": _REPEAT, "data": [value, times], "session_hash": session}
    return str(client.post("queue/join", json=call).raise_for_status().json()["event_id"])


def _session_stream(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    """What the stream of a session says until it ends."""
    told = client.get("queue/data", params={"session_hash": session}).text
    return [json.loads(line.removeprefix("data: ")) for line in told.splitlines() if line]


def _wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["call", "call with a session", "queue"])
def test_answers_that_nobody_fetches_are_bounded_in_bytes_and_in_time(kind: str) -> None:
    unfetched = Unfetched(_MOST_BYTES, _WAITS_S)
    with _served(_Endpoints(), unfetched=unfetched) as client:
        for number in range(20):
            # Each answer is a megabyte, so that a few of them fill the room.
            if kind == "queue":
                _joined(client, f"session {number}", "x" * 10_000, 100)
            else:
                call = {"data": ["x" * 10_000, 100]} | ({"session_hash": f"session {number}"} if kind != "call" else {})
                newest = client.post("call/repeat", json=call).raise_for_status().json()["event_id"]
            assert unfetched.held_bytes <= _MOST_BYTES
        # The last ones are still there for whoever asks now.
        if kind == "queue":
            messages = _session_stream(client, "session 19")
            assert [each["msg"] for each in messages][-2:] == ["process_completed", "close_stream"]
            assert "session not found" not in str(messages)
            assert _session_stream(client, "session 0")[-1]["session_not_found"]
        else:
            assert _told(client, "repeat", newest) == ("event: complete", ["x" * 1_000_000])
        assert unfetched.held_bytes > 1_000_000
        _wait_until(lambda: unfetched.held_bytes == 0)


def test_a_crowd_of_small_answers_counts_what_is_around_them() -> None:
    unfetched = Unfetched(100_000)
    with _served(_Endpoints(), unfetched=unfetched) as client:
        events = [_begun(client, "echo", number) for number in range(60)]
        assert _told(client, "echo", events[-1])[0] == "event: complete"
        assert unfetched.held_bytes <= 100_000
        event, said = _told(client, "echo", events[0])
        assert event == "event: error" and "not fetched" in said["error"]


def test_a_client_that_stops_reading_is_let_go() -> None:
    unfetched = Unfetched(_MOST_BYTES * 10, 10 * _WAITS_S)
    with _served(_Endpoints(), unfetched=unfetched) as client, socket.socket() as stalled:
        event_id = client.post("call/repeat", json={"data": ["x" * 50_000, 500]}).json()["event_id"]
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        stalled.connect((client.base_url.host, client.base_url.port))
        stalled.sendall(f"GET /gradio_api/call/repeat/{event_id} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        _wait_until(lambda: unfetched.held_bytes > 10_000_000)
        began = time.monotonic()
        _wait_until(lambda: unfetched.held_bytes == 0)
        assert time.monotonic() - began < 5 * _WAITS_S
        # Others are served meanwhile and afterwards.
        assert _told(client, "echo", _begun(client, "echo", "a"))[0] == "event: complete"
