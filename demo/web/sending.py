"""Sends answers no faster than they are read, and not for ever to a client that has stopped reading."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.web.unfetched import MOST_S, Unfetched

_PART_BYTES = 64 * 1024
"""How much is handed to the connection at once, which holds it until the client has taken it."""


class Sending:
    """Counts what of an answer is not sent yet; a client that takes no part of it for a minute counts as gone."""

    def __init__(self, app: ASGIApp, unfetched: Unfetched, most_s: float = MOST_S) -> None:
        self.app = app
        self.unfetched = unfetched
        self.most_s = most_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on; its answer goes out in parts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(self, receive, send)
        await self.app(scope, answer.receive if scope["method"] == "GET" else receive, answer.send)


class _Answer:
    """The two ends of one call, for which its client has hung up once it stops reading."""

    def __init__(self, sending: Sending, receive: Receive, send: Send) -> None:
        self._sending = sending
        self._receive = receive
        self._send = send
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        """What the client sends, or that it is gone."""
        message, gone = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({message, gone}, return_when=asyncio.FIRST_COMPLETED)
            return message.result() if message.done() else {"type": "http.disconnect"}
        finally:
            message.cancel()
            gone.cancel()

    async def send(self, message: Message) -> None:
        """Send it in parts; nothing, once the client is gone."""
        if self._gone.is_set():
            return
        body = message.get("body", b"")
        if not body:
            await self._send(message)
            return
        try:
            for start in range(0, len(body), _PART_BYTES):
                left = len(body) - start
                more = message.get("more_body", False) or left > _PART_BYTES
                await self._send_part({**message, "body": body[start : start + _PART_BYTES], "more_body": more}, left)
        except TimeoutError:
            self._gone.set()

    async def _send_part(self, part: Message, left: int) -> None:
        """Send a part of what is left; raises `TimeoutError` when that takes too long, or what is left has to go."""
        try:
            async with asyncio.timeout(self._sending.most_s) as patience:
                self._sending.unfetched.hold(self, left, lambda: patience.reschedule(0.0))
                await self._send(part)
        finally:
            self._sending.unfetched.release(self)
