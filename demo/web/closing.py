"""A quiet end: when the server is told to stop, every open stream sees its client hang up and ends by itself.

A page holds a heartbeat open for as long as it is shown. uvicorn would wait for it until its patience is over, cancel
it, and write the stack of each into the host's log.
"""

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEARTBEAT = "/gradio_api/heartbeat/"


class ClosingServer(uvicorn.Server):
    """A uvicorn server whose streams end within `last_words_s` seconds of being told to stop; heartbeats at once."""

    def __init__(self, config: uvicorn.Config, last_words_s: float) -> None:
        super().__init__(config)
        self._last_words_s = last_words_s
        self._stopping = asyncio.Event()
        self._hung_up = asyncio.Event()
        self._app: ASGIApp = config.app  # type: ignore[assignment]
        config.app = self._answer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hang up on heartbeats now and on whoever still listens later, while uvicorn waits for all of them."""
        self._stopping.set()
        later = asyncio.get_running_loop().call_later(self._last_words_s, self._hung_up.set)
        await super().shutdown(sockets)
        later.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ends = self._stopping if scope["path"].startswith(_HEARTBEAT) else self._hung_up

        async def receive_until_the_end() -> Message:
            message, end = asyncio.ensure_future(receive()), asyncio.ensure_future(ends.wait())
            try:
                await asyncio.wait({message, end}, return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                end.cancel()

        await self._app(scope, receive_until_the_end, send)
