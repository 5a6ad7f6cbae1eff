"""The two halves of an endpoint's call, answered without the layers that Gradio's own routes bring.

`POST /gradio_api/call/<endpoint>` puts the call into the line, `GET /gradio_api/call/<endpoint>/<event>` streams its
answer, letter by letter as Gradio's routes do. Whatever is not a plain call goes on to those.
"""

import asyncio
import json
import re
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

import gradio as gr
from gradio.server_messages import UnexpectedErrorMessage
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.web.asgi import body_of, replayed
from demo.web.called import Called, Endpoint, Told
from demo.web.prompt_queue import PromptQueue, session_of_event

_CALL = re.compile(r"/gradio_api/call/(?P<name>\w+)/?")
_STREAM = re.compile(r"/gradio_api/call/(v2/)?\w+/(?P<event>[^/]+)")
_SESSION = "/gradio_api/queue/data"
# What Gradio's routes say, too; they then end in an error of their own, whose stack goes to the host's log.
_NOT_FETCHED = "There is no such call, or its answer was not fetched within a minute."
_NO_SUCH_CALL = Told.of(False, {"error": _NOT_FETCHED})
_NO_SUCH_SESSION = (
    b"data: "
    + UnexpectedErrorMessage(message=_NOT_FETCHED, session_not_found=True).model_dump_json().encode()
    + b"\n\n"
)
_HEARTBEAT_S = 15.0
_HEARTBEAT = b"event: heartbeat\ndata: null\n\n"


class Calls:
    """Answers plain calls of the endpoints of `blocks`, whose queue is prompt; the innermost layer."""

    def __init__(self, app: ASGIApp, blocks: gr.Blocks, most_bytes: int) -> None:
        self.app = app
        self.blocks = blocks
        self.most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call, or pass it on."""
        method, path = (scope["method"], scope["path"]) if scope["type"] == "http" else ("", "")
        if method == "POST" and (begins := _CALL.fullmatch(path)):
            await self._join(begins["name"], scope, receive, send)
        elif method == "GET" and (streams := _STREAM.fullmatch(path)):
            event_id = streams["event"]
            if called := self._queue.called(event_id):
                await self._tell(called, receive, send)
            elif self._queue.is_told(session_of_event(self._queue, event_id)):
                await self.app(scope, receive, send)
            else:
                await _stream(_NO_SUCH_CALL.text, send)
        elif method == "GET" and path == _SESSION:
            session = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0]
            if session and not self._queue.is_told(session):
                await _stream(_NO_SUCH_SESSION, send)
                return
            with self._queue.heard(session):
                await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _join(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(scope, receive, self.most_bytes)
        endpoint, queue = self._endpoints.get(name), self._queue
        call = _plain_call(scope, body)
        if endpoint is None or call is None or queue.stopped or not endpoint.takes(len(call["data"])):
            await self.app(scope, replayed(body, receive), send)
            return
        called = Called(endpoint, call["data"], call.get("session_hash"), Request(scope))
        queue.join(called)
        said = json.dumps({"event_id": called._id}, separators=(",", ":")).encode()
        headers = [(b"content-length", str(len(said)).encode()), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said})

    async def _tell(self, called: Called, receive: Receive, send: Send) -> None:
        await send(_stream_starts())
        if not called.answer.done():
            gone = asyncio.create_task(_gone(receive))
            try:
                while not (called.answer.done() or gone.done()):
                    awaited: set[asyncio.Future[Any]] = {called.answer, gone}
                    ready, _ = await asyncio.wait(awaited, timeout=_HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
                    if not ready:
                        await send({"type": "http.response.body", "body": _HEARTBEAT, "more_body": True})
            except asyncio.CancelledError:
                await self._queue.clean_events(event_id=called._id)
                raise
            finally:
                gone.cancel()
            if not called.answer.done():
                await self._queue.clean_events(event_id=called._id)
                return
        self._queue.fetched(called)
        await send({"type": "http.response.body", "body": called.answer.result().text})

    @property
    def _queue(self) -> PromptQueue:
        queue = self.blocks._queue
        assert isinstance(queue, PromptQueue)  # noqa: S101
        return queue

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        found = ((fn.api_name, Endpoint.of(fn)) for fn in self.blocks.fns.values() if isinstance(fn.api_name, str))
        return {name: endpoint for name, endpoint in found if endpoint is not None}


def _plain_call(scope: Scope, body: bytes) -> dict[str, Any] | None:
    """The call, if it is of the shape that most have."""
    if not Headers(scope=scope).get("content-type", "").startswith("application/json"):
        return None
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(call, dict) or not isinstance(call.get("data"), list) or "oauth_token" in call:
        return None
    session = call.get("session_hash")
    return call if session is None or (isinstance(session, str) and session) else None


def _stream_starts() -> Message:
    """A new one for each stream: the layers around this one add to its headers."""
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    return {"type": "http.response.start", "status": 200, "headers": headers}


async def _stream(text: bytes, send: Send) -> None:
    await send(_stream_starts())
    await send({"type": "http.response.body", "body": text})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
