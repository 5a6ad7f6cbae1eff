"""Serve the site from this process, at the address that the settings, or Gradio's own variables, name."""

import asyncio
import contextlib
import math
import os
import re
import socket
import time
from collections.abc import Callable, Sequence

import gradio as gr
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.settings import SettingError, Settings
from demo.web import traces

_FIRST_PORT, _PORTS = 7860, 100
_LAST_WORDS_S = 3
_HEARTBEAT = "/gradio_api/heartbeat/"
_NEW_RUN = re.compile(r"/gradio_api/(queue/join|call/.+)")
_FETCHED_WITHIN_S = 2.0
"""The time that a stopping process listens on after it took a run, so that the caller can fetch the answer."""

_LISTENS_AT_MOST_S = 6.0

_READ_WITHIN_S = 1.0
"""The time for which it then reads calls on connections made before it stopped listening."""

_UNREAD_MS = 60_000
"""The time that an answer waits for a client that has stopped reading before the connection is closed."""

_KEEP_ALIVE_S = 75
"""The life of an idle connection, longer than proxies' (nginx: 60 s): closing first may lose a call just sent on it."""


def serve(app: ASGIApp, demo: gr.Blocks, settings: Settings) -> None:
    """Serve until the process is told to stop; prints the address."""
    host = settings.address
    named = settings.port if settings.port is not None else os.environ.get("GRADIO_SERVER_PORT")
    listener = _listener(host, range(_FIRST_PORT, _FIRST_PORT + _PORTS) if named in (None, "") else [int(named)])
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else "localhost" if host == "0.0.0.0" else host  # noqa: S104
    if demo.mcp_server_obj:
        # The tool server calls the page at this address, which a caller's headers must not choose.
        demo.mcp_server_obj._local_url = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else shown}:{port}/"  # noqa: S104
    config = uvicorn.Config(
        app,
        interface="asgi3",
        # Fixed, because uvicorn would take uvloop and httptools where they are installed.
        loop="asyncio",
        http="h11",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_WORDS_S + 2,
        timeout_keep_alive=_KEEP_ALIVE_S,
        h11_max_incomplete_event_size=64 * 1024,
    )
    print(f"* Running on local URL:  http://{shown}:{port}{settings.root_path or ''}", flush=True)
    _Server(config).run(sockets=[listener])


def _listener(host: str, ports: Sequence[int]) -> socket.socket:
    """A socket that listens at the first of `ports` that is free; raises `SettingError` where none is."""
    reason = ""
    for port in ports:
        # asyncio turns Nagle's algorithm off only where the protocol is named; otherwise each small part of an answer
        # waits some 40 ms until the client has acknowledged the one before.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Connections inherit it (Linux, tcp(7)).
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
        try:
            listener.bind((host, port))
            listener.listen(1024)
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
            continue
        return listener
    tried = f"port {ports[0]}" if len(ports) == 1 else f"any port from {ports[0]} to {ports[-1]}"
    raise SettingError(f"This page cannot listen at {host} on {tried}: {reason}.")


class _Server(uvicorn.Server):
    """A server that, when told to stop, hands its visitors over to other processes and ends its open streams.

    A run is asked for by one call and fetched by another, both from the same process. So a stopping server listens for
    a moment longer but takes no new runs: calls for these wait until it no longer listens, and are then answered 503,
    after which a proxy finds another process for both calls.

    Heartbeats of pages end at once, other streams a little later. uvicorn would wait for them, then cancel them and
    write the stack of each into the log.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving, self._stopping, self._hung_up = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._taking, self._took_last = 0, -math.inf
        self._app: ASGIApp = config.app  # type: ignore[assignment]
        config.app = self._answer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let callers fetch their answers, then end streams as if their clients had hung up, while uvicorn waits."""
        self._leaving.set()
        ends = time.monotonic() + _LISTENS_AT_MOST_S
        while time.monotonic() < ends and (self._taking or time.monotonic() < self._took_last + _FETCHED_WITHIN_S):
            await asyncio.sleep(0.05)
        await self._stop_listening(sockets or [])
        if self.server_state.connections:
            await asyncio.sleep(_READ_WITHIN_S)
        self._stopping.set()
        later = asyncio.get_running_loop().call_later(_LAST_WORDS_S, self._hung_up.set)
        await super().shutdown(sockets)
        later.cancel()
        # uvicorn then ends this process by the signal that it was sent, after which nothing more is called.
        await asyncio.to_thread(traces.close)

    async def _stop_listening(self, listeners: list[socket.socket]) -> None:
        """Stop listening, and accept the connections that still wait for it: closing alone would reset them."""
        loop = asyncio.get_running_loop()
        # The kernel listens for as long as a socket or its duplicate is open.
        still_open = [each.dup() for each in listeners]
        for server in self.servers:
            server.close()
        connected = []
        for each in still_open:
            with contextlib.suppress(BlockingIOError):
                while True:
                    connected.append(each.accept()[0])
            each.close()
        for connection in connected:
            connection.setblocking(False)
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        protocol: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return protocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        if not is_post or not _NEW_RUN.fullmatch(scope["path"]):
            await self._answer_until_the_end(scope, receive, send)
        elif self._leaving.is_set():
            await self._stopping.wait()
            await Response(status_code=503, headers={"Retry-After": "1"})(scope, receive, send)
        else:
            self._taking += 1
            try:
                await self._answer_until_the_end(scope, receive, send)
            finally:
                self._taking -= 1
                self._took_last = time.monotonic()

    async def _answer_until_the_end(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_heartbeat = scope["type"] == "http" and scope["path"].startswith(_HEARTBEAT)
        ends = self._stopping if is_heartbeat else self._hung_up

        async def receive_until_the_end() -> Message:
            message, end = asyncio.ensure_future(receive()), asyncio.ensure_future(ends.wait())
            try:
                await asyncio.wait({message, end}, return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                end.cancel()

        await self._app(scope, receive_until_the_end if scope["type"] == "http" else receive, send)
