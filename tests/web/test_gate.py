"""A call whose body does not arrive holds neither memory nor a place for long."""

import asyncio
from collections.abc import Callable

from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from demo.web.gate import Gate
from demo.web.visitors import Visitors


async def _answers(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse((await receive())["body"])(scope, receive, send)


def _gate(body_within_s: float = 60.0) -> Gate:
    return Gate(_answers, most_bytes=1_000, visitors=Visitors(), body_within_s=body_within_s)


async def _status(gate: Gate, receive: Receive, address: str = "192.0.2.1") -> int:
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    path = "/gradio_api/call/sentiment"
    await gate({"type": "http", "method": "POST", "path": path, "headers": [], "client": (address, 1)}, receive, send)
    return statuses[0]


def _parts(*parts: bytes) -> Receive:
    left = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    left[-1]["more_body"] = False

    async def receive() -> Message:
        return left.pop(0)

    return receive


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nothing arrives")


def _run(statuses: Callable[[], object]) -> object:
    return asyncio.run(asyncio.wait_for(statuses(), 10))  # type: ignore[arg-type]


def test_a_body_in_many_parts_is_one_body_and_too_large_a_one_is_refused() -> None:
    async def statuses() -> list[int]:
        return [await _status(_gate(), _parts(*[b"x"] * size)) for size in (1, 1_000, 1_001)]

    assert _run(statuses) == [200, 200, 413]


def test_a_body_that_does_not_arrive_is_not_waited_for() -> None:
    async def statuses() -> int:
        return await _status(_gate(0.05), _never)

    assert _run(statuses) == 408


def test_one_caller_holds_few_bodies_that_have_not_arrived_and_nobody_elses_calls_up() -> None:
    async def statuses() -> tuple[list[int], int, int]:
        gate = _gate(0.2)
        waiting = [asyncio.create_task(_status(gate, _never)) for _ in range(110)]
        await asyncio.sleep(0)
        other = await _status(gate, _parts(b"x"), "192.0.2.2")
        found = [await each for each in waiting]
        return found, other, await _status(gate, _parts(b"x"))

    assert _run(statuses) == ([408] * 100 + [429] * 10, 200, 200)
