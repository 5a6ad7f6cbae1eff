"""The streams that clients keep open: they tell who still listens for an answer, and which pages are shown."""

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
"""How many streams one caller may keep open: two for each page, and a class of pupils shares one address."""

_TIDY_EVERY_S = 1.0
_STREAM = re.compile(r"/gradio_api/(queue/data|heartbeat/(?P<page>[^/]+)|call/(v2/)?\w+/(?P<event>[^/]+)|mcp.*)")
_TOO_MANY = N_("Very many pages are open at your address. Please close one of them.")


class Streams:
    """Limits the streams of a caller, and once a second lets `queue` drop what nobody listens to."""

    def __init__(self, app: ASGIApp, queue: ModelQueue, visitors: Visitors, shown: Counter[str]) -> None:
        self.app = app
        self.queue = queue
        self.visitors = visitors
        # The sessions of the pages that are open: each holds a heartbeat.
        self.shown = shown
        # The sessions and events whose answers are listened for.
        self._heard: Counter[str] = Counter()
        self._of_callers: Counter[str] = Counter()
        self._tidying: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, and note what it listens to."""
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
                # Gradio says in the stream that there is no such session, then raises a 404 that nobody can be sent.
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
