"""Limits and counts the streams that clients keep open: which answers are awaited, and which pages are open."""

import asyncio
import logging
import re
from collections import Counter

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from demo.language import N_, _
from demo.web.call import refuse
from demo.web.model_queue import ModelQueue
from demo.web.visitors import Visitors, counted

_log = logging.getLogger(__name__)

MOST_STREAMS = 500
"""The most streams that one caller may keep open: two for each page, and a class of pupils shares one address."""

_TIDY_EVERY_S = 1.0
_STREAM = re.compile(r"/gradio_api/(queue/data|heartbeat/(?P<page>[^/]+)|call/(v2/)?\w+/(?P<event>[^/]+)|mcp.*)")
_TOO_MANY = N_("Very many pages are open at your address. Please close one of them.")


class Streams:
    """ASGI middleware that limits a caller's streams, and once a second lets `queue` drop what no client listens to."""

    def __init__(self, app: ASGIApp, queue: ModelQueue, visitors: Visitors, shown: Counter[str]) -> None:
        self.app = app
        self.queue = queue
        self.visitors = visitors
        # The sessions of the open pages: each page keeps a heartbeat stream open.
        self.shown = shown
        # The sessions and events whose answers a client listens for.
        self._heard: Counter[str] = Counter()
        self._of_callers: Counter[str] = Counter()
        self._tidying: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, and count its stream while that is open; beyond the limit, answer 429."""
        if scope["type"] == "http":
            self._tidying = self._tidying or asyncio.create_task(self._tidy())
        stream = _STREAM.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if stream is None:
            await self.app(scope, receive, send)
            return
        caller = self.visitors.caller(scope)
        if self._of_callers[caller] >= MOST_STREAMS:
            await refuse(scope, receive, send, 429, _(_TOO_MANY), {"Retry-After": "1"})
            return
        heard = stream["event"] or Request(scope).query_params.get("session_hash", "")
        counts, key = (self.shown, stream["page"]) if stream["page"] else (self._heard, heard)
        with counted(self._of_callers, caller), counted(counts, key):
            try:
                await self.app(scope, receive, send)
            except RuntimeError as error:
                # Gradio says in the stream that there is no such session, then raises a 404 when the answer has begun.
                if not isinstance(error.__cause__, HTTPException):
                    raise
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_EVERY_S)
            try:
                self.queue.tidy(self._heard)
            except Exception:
                _log.exception("tidying the queue failed; it goes on")
