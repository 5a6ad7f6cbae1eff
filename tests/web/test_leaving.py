"""A caller who leaves, cancels or never listens frees the model before its next token, and the log says so."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from demo.api.callers import add_endpoint
from demo.settings import MODEL_QUEUE
from demo.web.model_queue import ModelQueue
from demo.web.streams import Streams
from demo.web.visitors import Visitors
from models.cancellation import go_on
from models.errors import Stopped
from tests.api.server import Server, free_port
from tests.web.calls import LONG_TEXT, PATIENCE_S, called, cancel, number_of, outcome, until
from tests.web.conftest import line_of

# Translated with eight drafts, this takes seconds: a run that ends early did not end by itself.
_LONG: list[tuple[str, list[Any]]] = [
    ("translation", [LONG_TEXT, 8, ""]),
    ("completion", ["Once upon a time", 200, "beam", 0.8, 50, 0.95, 8, 0, ""]),
]


def _runs(server: Server, session: str) -> list[dict[str, Any]]:
    event, (runs,) = outcome(server, "session_runs", called(server, "session_runs", [], session))
    assert event == "complete"
    return list(runs)


@pytest.fixture(scope="module")
def warm(server: Server) -> Server:
    """The app with the models in memory, so that a run that goes on is computing."""
    for endpoint, data in (("translation", ["A dog.", 1, ""]), ("completion", ["Once", 1, "greedy", *_LONG[1][1][3:]])):
        assert outcome(server, endpoint, called(server, endpoint, data))[0] == "complete"
    return server


@pytest.fixture
def loaded(warm: Server, quiet: Server) -> Server:
    """The same while nothing runs on it."""
    return warm


def _was_stopped(server: Server, session: str) -> None:
    other = called(server, "sentiment", ["Lovely.", ""], f"behind {session}")
    assert outcome(server, "sentiment", other)[0] == "complete"
    # The other is not held up by the pass that this one was in, which may be a long one.
    until(lambda: len(_runs(server, session)) > 0, "the run was never logged")
    (run,) = _runs(server, session)
    assert run["error"] == Stopped.SENTENCE
    assert run["answer"] is None


@pytest.mark.parametrize(("endpoint", "data"), _LONG, ids=[endpoint for endpoint, _ in _LONG])
def test_a_caller_who_hangs_up_frees_the_model(loaded: Server, endpoint: str, data: list[Any]) -> None:
    session = f"a caller of {endpoint} who hangs up"
    event_id = called(loaded, endpoint, data, session).json()["event_id"]
    with httpx.stream("GET", f"{loaded.url}gradio_api/call/{endpoint}/{event_id}", timeout=PATIENCE_S):
        until(lambda: line_of(loaded)[1] == 1, "the run never began")
    _was_stopped(loaded, session)


def test_a_page_that_is_closed_frees_the_model(loaded: Server) -> None:
    """A page hears of all its runs through one stream."""
    session = "a page that is closed"
    endpoint, data = _LONG[0]
    body = {"data": data, "fn_index": number_of(loaded, endpoint), "session_hash": session}
    httpx.post(f"{loaded.url}gradio_api/queue/join", json=body, timeout=PATIENCE_S).raise_for_status()
    address = f"{loaded.url}gradio_api/queue/data"
    with httpx.stream("GET", address, params={"session_hash": session}, timeout=PATIENCE_S):
        until(lambda: line_of(loaded)[1] == 1, "the run never began")
    _was_stopped(loaded, session)


def test_a_cancelled_run_frees_the_model(loaded: Server) -> None:
    session = "a caller who cancels"
    endpoint, data = _LONG[0]
    begun = called(loaded, endpoint, data, session)
    until(lambda: line_of(loaded)[1] == 1, "the run never began")
    cancel(loaded, endpoint, begun, session).raise_for_status()
    _was_stopped(loaded, session)


def test_whoever_leaves_the_line_is_not_answered_in_it(loaded: Server) -> None:
    first, second = "the first, who stays", "the second, who leaves"
    endpoint, data = _LONG[0]
    begun = called(loaded, endpoint, data, first)
    until(lambda: line_of(loaded)[1] == 1, "the run never began")
    waiting = called(loaded, "sentiment", ["Lovely.", ""], second).json()["event_id"]
    with httpx.stream("GET", f"{loaded.url}gradio_api/call/sentiment/{waiting}", timeout=PATIENCE_S):
        pass
    assert outcome(loaded, endpoint, begun)[0] == "complete"
    assert _runs(loaded, second) == []


@contextmanager
def _endless(unheard_s: float) -> Iterator[tuple[str, threading.Event]]:
    """An app whose one endpoint computes until it is stopped or has gone on for long, and whether it was stopped."""
    stopped = threading.Event()

    def endless() -> str:
        """Compute."""
        ends = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < ends:
                go_on()
                time.sleep(0.01)
        except Stopped:
            stopped.set()
            raise
        return "done"

    with gr.Blocks() as blocks:
        add_endpoint(endless, concurrency_id=MODEL_QUEUE, concurrency_limit=1)
    layer = Middleware(Streams, queue=ModelQueue(blocks, unheard_s), visitors=Visitors(), shown=Counter())
    app = gr.mount_gradio_app(FastAPI(middleware=[layer]), blocks, path="/", ssr_mode=False)
    port = free_port()
    running = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        until(lambda: running.started, "the app never started")
        yield f"http://127.0.0.1:{port}/gradio_api/call/endless", stopped
    finally:
        running.should_exit = True
        thread.join()


def test_a_run_that_nobody_listens_to_is_stopped_and_whoever_asks_later_is_told() -> None:
    with _endless(unheard_s=0.2) as (address, stopped):
        event_id = httpx.post(address, json={"data": []}).json()["event_id"]
        assert stopped.wait(PATIENCE_S)
        said = httpx.get(f"{address}/{event_id}", timeout=PATIENCE_S).text
    assert "event: error" in said and Stopped.SENTENCE in said


def test_a_run_that_somebody_listens_to_goes_on() -> None:
    with _endless(unheard_s=0.2) as (address, stopped):
        event_id = httpx.post(address, json={"data": []}).json()["event_id"]
        with httpx.stream("GET", f"{address}/{event_id}", timeout=PATIENCE_S):
            assert not stopped.wait(3)
        assert stopped.wait(PATIENCE_S)
