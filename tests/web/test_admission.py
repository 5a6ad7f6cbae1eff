"""The line is fair: no visitor fills it alone, and callers who are turned away are told when to come back."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from demo.settings import Limits, Settings
from demo.web.admission import CALLER_FACTOR, Admission
from demo.web.metrics import Metrics
from demo.web.model_queue import ModelQueue
from demo.web.rate_limits import RateLimits
from demo.web.visitors import Visitors
from tests.api.server import Server
from tests.web.calls import PATIENCE_S, called, cancel, number_of, outcome
from tests.web.conftest import AT_ONCE, PER_MINUTE, QUEUE, line_of

_SHORT: list[Any] = ["Lovely.", ""]
_NUMBERS = count()


def _long() -> list[Any]:
    """A run of some seconds, and never one of before, which would be answered from memory at once."""
    return [f"Once upon a time, in the year {next(_NUMBERS)},", 200, "beam", 0.8, 50, 0.95, 8, 0, ""]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_callers_are_told_apart_by_a_number_that_changes_every_hour() -> None:
    clock = Clock()
    visitors = Visitors(clock=clock)

    def caller(address: str, *headers: tuple[bytes, bytes]) -> str:
        return visitors.caller({"type": "http", "client": (address, 1), "headers": list(headers)})

    first = caller("192.0.2.1")
    assert first == caller("192.0.2.1") != caller("192.0.2.2") and "192" not in first
    vouched = (b"x-clearhead-caller", visitors.vouch(first).encode())
    assert caller("127.0.0.1", vouched) == first
    assert caller("127.0.0.1", (b"x-clearhead-caller", f"{first}.0".encode())) != first
    assert Visitors().caller({"type": "http", "client": ("192.0.2.1", 1), "headers": []}) != first
    # Whoever has an IPv6 line chooses among 2**64 addresses; an IPv4 address is the same in both notations.
    assert caller("2001:db8:1:2::1") == caller("2001:db8:1:2:ffff::9") != caller("2001:db8:1:3::1")
    assert caller("::ffff:192.0.2.1") == first and caller("fe80::1%eth0") == caller("fe80::2%eth1")
    clock.now = 3601
    assert caller("192.0.2.1") != first


def test_processes_with_one_secret_know_a_caller_by_the_same_number_for_an_hour() -> None:
    clock = Clock()

    def caller(visitors: Visitors) -> str:
        return visitors.caller({"type": "http", "client": ("192.0.2.1", 1), "headers": []})

    here, there = (Visitors("a secret of this host", clock) for _ in range(2))
    first = caller(here)
    assert first == caller(there) != caller(Visitors("a secret of another host", clock))
    # What one process vouches for is for itself alone.
    assert here.vouch(first) != there.vouch(first)
    clock.now = 3601
    assert first != caller(here) == caller(there)


@contextmanager
def _busy(server: Server, *sessions: str) -> Iterator[None]:
    """A long run of the first session goes on, and one of each other session waits."""
    started = [called(server, "completion", _long(), session) for session in sessions]
    assert [each.status_code for each in started] == [200] * len(sessions)
    yield
    for call, session in zip(started, sessions, strict=True):
        cancel(server, "completion", call, session)


def _refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    body = answer.json()
    assert body["detail"] == body["error"]
    return str(body["detail"])


def test_one_visitor_with_a_hundred_calls_keeps_a_few_and_another_is_answered_first(quiet: Server) -> None:
    greedy = "a visitor with many calls"
    calls: list[httpx.Response] = []

    def ask() -> None:
        calls.append(called(quiet, "completion", _long(), greedy))

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [_refusal(each) for each in calls if each.status_code != 200]
    # A run may end while the others still come in, which makes room for one more.
    assert AT_ONCE <= len(calls) - len(refused) < 10
    assert set(refused) == {f"You have {AT_ONCE} runs waiting or running already. Please let one of them finish."}
    other = called(quiet, "sentiment", _SHORT, "another visitor")
    assert outcome(quiet, "sentiment", other)[0] == "complete"
    # The other came last and was served before the second of the many.
    assert sum(line_of(quiet)) >= AT_ONCE - 1
    for call in calls:
        if call.status_code == 200:
            cancel(quiet, "completion", call, greedy)


def test_calls_without_a_session_share_their_callers_few(quiet: Server) -> None:
    calls = [called(quiet, "completion", _long()) for _ in range(AT_ONCE + 2)]
    assert [each.status_code for each in calls] == [200] * AT_ONCE + [429] * 2
    for call in calls[:AT_ONCE]:
        cancel(quiet, "completion", call, call.json()["event_id"])


def test_a_full_line_says_so_at_once_and_half_of_it_stays_free_for_others(quiet: Server) -> None:
    share = QUEUE // 2
    with _busy(quiet, *(f"one of a class {number}" for number in range(share))):
        sentence = _refusal(called(quiet, "sentiment", _SHORT, "one more of the class"))
    assert sentence.startswith("The line is full: ")
    assert "your text stays where it is" in sentence


def test_small_calls_are_answered_while_the_line_of_runs_is_full(quiet: Server) -> None:
    started = []
    for number in range(QUEUE + 1):
        body = {"data": _long(), "session_hash": f"one of many {number}"}
        sent_for = {"X-Forwarded-For": f"10.1.0.{number + 1}"}
        address = f"{quiet.url}gradio_api/call/completion"
        started.append(httpx.post(address, json=body, headers=sent_for, timeout=PATIENCE_S))
    assert [each.status_code for each in started] == [200] * (QUEUE + 1)
    try:
        assert line_of(quiet)[0] > QUEUE // 2
        event, _ = outcome(quiet, "session_runs", called(quiet, "session_runs", [], "a visitor who reads"))
        assert event == "complete"
    finally:
        for number, call in enumerate(started):
            cancel(quiet, "completion", call, f"one of many {number}")


@contextmanager
def _site(settings: Settings, crowd: int = 0) -> Iterator[Callable[..., httpx.Response]]:
    """Calls of an app with an empty line, in which each endpoint but `session_runs` is a model's."""

    async def answers(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("answered")(scope, receive, send)

    queue = cast(
        ModelQueue,
        SimpleNamespace(
            is_for_a_model=lambda event: event == "sentiment",
            endpoints={"sentiment", "session_runs"},
            with_defaults=lambda _, values: values,
            calls_waiting=crowd,
            waiting=0,
            of=lambda *_: 0,
            take_turns=lambda: None,
        ),
    )
    site = Admission(answers, settings, queue, Visitors(), RateLimits(), Metrics())

    def ask(path: str = "call/session_runs", session: str = "", address: str = "192.0.2.1") -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(site, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                body = {"data": [], "session_hash": session}
                return await client.post(f"/gradio_api/{path}", json=body)

        return asyncio.run(asked())

    yield ask


@pytest.mark.parametrize(("crowd", "status"), [(0, 200), (10_000, 429)])
def test_a_crowd_of_small_calls_is_told_to_come_back(crowd: int, status: int) -> None:
    with _site(Settings(), crowd) as ask:
        answer = ask()
    assert answer.status_code == status
    assert status == 200 or _refusal(answer).startswith("Very many calls are waiting")


@pytest.mark.parametrize(
    ("path", "one_session"),
    [("call/sentiment", 3), ("call/session_runs", 60), ("mcp/", 60)],
    ids=["runs", "small", "mcp"],
)
@pytest.mark.parametrize("addresses", ["192.0.2.7", "2001:db8::{:x}"])
def test_made_up_sessions_and_addresses_of_one_network_do_not_widen_the_limit(
    path: str, one_session: int, addresses: str
) -> None:
    most = one_session * CALLER_FACTOR if path != "mcp/" else one_session
    with _site(Settings(limits=Limits(runs_per_minute=3))) as ask:
        answers = [ask(path, f"invented {number}", addresses.format(number)) for number in range(most + 5)]
        assert [each.status_code for each in answers] == [200] * most + [429] * 5
        _refusal(answers[-1])
        # Another network is not held to it.
        assert ask(path, "somebody else", "198.51.100.1").status_code == 200


def test_a_visitor_in_line_is_told_the_place(quiet: Server) -> None:
    with _busy(quiet, "the first in line"):
        body = {"data": _SHORT, "fn_index": number_of(quiet, "sentiment"), "session_hash": "the second in line"}
        httpx.post(f"{quiet.url}gradio_api/queue/join", json=body, timeout=PATIENCE_S).raise_for_status()
        address = f"{quiet.url}gradio_api/queue/data"
        with httpx.stream("GET", address, params={"session_hash": "the second in line"}, timeout=60) as stream:
            said = next(line for line in stream.iter_lines() if '"estimation"' in line)
    assert '"rank":0' in said.replace(" ", "")


def test_too_many_runs_in_a_minute_wait_and_quick_calls_go_on(quiet: Server) -> None:
    session = "a visitor in a hurry"
    for _ in range(PER_MINUTE):
        assert outcome(quiet, "sentiment", called(quiet, "sentiment", ["", ""], session))[0] == "error"
    sentence = _refusal(called(quiet, "sentiment", _SHORT, session))
    assert sentence.startswith(f"One visitor may start {PER_MINUTE} runs a minute. Please try again in ")
    event, (runs,) = outcome(quiet, "session_runs", called(quiet, "session_runs", [], session))
    assert event == "complete" and len(runs) == PER_MINUTE


_SHAPES: list[tuple[str, Callable[[int], dict[str, Any]]]] = [
    ("number", lambda number: {"fn_index": number}),
    ("text", lambda number: {"fn_index": str(number)}),
    ("text of a float", lambda number: {"fn_index": f"{number}.0"}),
    ("text with spaces", lambda number: {"fn_index": f" {number} "}),
    ("text with a sign", lambda number: {"fn_index": f"+{number}"}),
    ("text with zeros", lambda number: {"fn_index": f"00{number}"}),
    ("float", lambda number: {"fn_index": float(number)}),
    ("truth", lambda _: {"fn_index": True}),
    ("list", lambda number: {"fn_index": [number]}),
    ("object", lambda number: {"fn_index": {"fn_index": number}}),
    ("trigger as text", lambda number: {"fn_index": number, "trigger_id": "1"}),
    ("batch", lambda number: {"fn_index": number, "batched": True}),
    ("name beside it", lambda number: {"fn_index": str(number), "api_name": "session_runs"}),
]


@pytest.mark.parametrize("path", ["queue/join", "run/predict", "api/predict", "run/session_runs", "call/session_runs"])
def test_no_shape_of_a_call_gets_a_model_past_the_limit(quiet: Server, path: str) -> None:
    session = f"a visitor of many shapes at {path}"
    number = number_of(quiet, "sentiment")
    started = [called(quiet, "completion", _long(), session) for _ in range(AT_ONCE)]
    try:
        for what, shape in _SHAPES:
            body = {"data": _SHORT, "session_hash": session} | shape(number)
            answer = httpx.post(f"{quiet.url}gradio_api/{path}", json=body, timeout=PATIENCE_S)
            assert answer.status_code == (429 if what == "number" else 400), what
    finally:
        for call in started:
            cancel(quiet, "completion", call, session)
