"""Whether anyone listens to a run that was asked for: an answer that nobody fetches is not computed to its end.

Gradio notices when a stream is closed, but not when it is never opened.
"""

import asyncio
import json
import re
from collections import Counter
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.web.asgi import counted
from demo.web.line import Line

UNHEARD_S = 10.0
"""How long a run may go on that nobody has listened to: for a client that asks and listens in two steps, plenty."""

_LOOKS_EVERY_S = 1.0
_LONGEST_ANSWER = 10_000
_JOINS = re.compile(r"/gradio_api/(queue/join|call/(v2/)?\w+/?)")
_HEARTBEAT = re.compile(r"/gradio_api/heartbeat/(?P<session>[^/]+)")
_STREAM = re.compile(r"/gradio_api/(queue/data|call/(v2/)?\w+/(?P<event>[^/]+))")


class Listening:
    """Gives up runs that wait for nobody; whoever opens the stream later is told that they were stopped."""

    def __init__(
        self, app: ASGIApp, line: Line, shown: Counter[str] | None = None, unheard_s: float = UNHEARD_S
    ) -> None:
        self.app = app
        self.line = line
        # The pages that are on a screen, by session: each holds a heartbeat open.
        self.shown = Counter() if shown is None else shown
        self.unheard_s = unheard_s
        # The streams that are open, by session.
        self._open: Counter[str] = Counter()
        self._watches: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, and remember what it began or listens to."""
        path = scope["path"] if scope["type"] == "http" else ""
        stream = _STREAM.fullmatch(path) if path and scope["method"] == "GET" else None
        if stream is not None:
            event_id = stream["event"]
            session = self.line.stream_of(event_id) if event_id else _session(scope)
            await self._listen(session, scope, receive, send)
        elif path and scope["method"] == "GET" and (heartbeat := _HEARTBEAT.fullmatch(path)):
            with counted(self.shown, heartbeat["session"]):
                await self.app(scope, receive, send)
        elif path and scope["method"] == "POST" and _JOINS.fullmatch(path):
            begun = _Begun(send)
            await self.app(scope, receive, begun)
            if begun.event_id:
                watch = asyncio.create_task(self._watch(begun.event_id))
                self._watches.add(watch)
                watch.add_done_callback(self._watches.discard)
        else:
            await self.app(scope, receive, send)

    async def _listen(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._open[session] += 1
        try:
            await self.app(scope, receive, send)
        except RuntimeError as error:
            # Gradio tells the client in the stream that there is no such session (any more), then raises a 404 that
            # can no longer be answered. The client knows; the host's log needs no stack for it.
            if not isinstance(error.__cause__, HTTPException):
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._open[session] -= 1
            if not self._open[session]:
                del self._open[session]
                self.line.forget_untold(session)

    async def _watch(self, event_id: str) -> None:
        """Give the run up once it goes on unheard; from the moment that somebody listens, Gradio looks after it."""
        await asyncio.sleep(self.unheard_s)
        while self.line.is_live(event_id):
            if self.line.stream_of(event_id) in self._open:
                return
            self.line.give_up(event_id)
            await asyncio.sleep(_LOOKS_EVERY_S)


class _Begun:
    """A `send` that reads which event a call began."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.body" and len(self._body) < _LONGEST_ANSWER:
            self._body += message.get("body", b"")
        await self._send(message)

    @property
    def event_id(self) -> str:
        """The event, "" where none began."""
        try:
            said = json.loads(self._body)
        except ValueError:
            return ""
        event_id = said.get("event_id") if isinstance(said, dict) else None
        return str(event_id) if event_id else ""


def _session(scope: Scope) -> str:
    return str(parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0])
