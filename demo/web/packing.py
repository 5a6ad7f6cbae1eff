"""Packed answers: what a browser reads is compressed with brotli, or with gzip where the browser does not know that.

Only answers to GET are packed. The length of a packed answer tells a little about its content, so a secret must not
share one with text that somebody else chose (the BREACH attack, breachattack.com). Answers to GET hold neither a
session nor a visitor's text: these travel in the answers to POST and in event streams, which are sent as they are. The
page's nonce is another one at each load, so that what was learned about one is of no use for the next.
"""

import asyncio
import gzip
import re
from collections.abc import Callable

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PACKABLE = re.compile(r"text/(?!event-stream)|application/(javascript|json|manifest\+json)|image/svg\+xml")
_KEPT = re.compile(r"/(assets|static)/")
_LEAST_BYTES = 500
"""Shorter answers fit into one network packet as they are."""

MOST_KEPT_BYTES = 8_000_000
"""How much memory the packed files may take, whatever paths are asked for: the page needs 1.5 MB of them."""


def _brotli(body: bytes) -> bytes:
    # Packs the page in 30 ms; higher qualities save less at 3 Mbit/s than they take.
    return bytes(brotli.compress(body, quality=5))


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=6, mtime=0)


_PACKERS: dict[str, Callable[[bytes], bytes]] = {"br": _brotli, "gzip": _gzip}
"""By content coding, as HTTP names it; the best first."""


def chosen_coding(accept_encoding: str) -> str | None:
    """The best coding that an `Accept-Encoding` header allows; None if it allows none of ours."""
    weights = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameter = part.partition(";")
        weight = re.fullmatch(r"\s*q\s*=\s*([01](\.\d{0,3})?)\s*", parameter)
        weights[name.strip()] = float(weight[1]) if weight else 1.0
    for coding in _PACKERS:
        if weights.get(coding, weights.get("*", 0.0)) > 0:
            return coding
    return None


class Packing:
    """Packs the answers to GET, in place of Gradio, which packs files only, and each of them anew at every call."""

    def __init__(self, app: ASGIApp, most_kept_bytes: int = MOST_KEPT_BYTES) -> None:
        self.app = app
        self.most_kept_bytes = most_kept_bytes
        # The files of Gradio's frontend by path and coding, packed: they do not change while the process runs.
        self._kept: dict[tuple[str, str], list[Message]] = {}
        self._kept_bytes = 0
        self._keeping = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a file that was packed before, or pass the call on and pack its answer."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        headers = MutableHeaders(raw=list(scope["headers"]))
        coding = chosen_coding(",".join(headers.getlist("accept-encoding")))
        # The layers below then pack nothing themselves.
        del headers["accept-encoding"]
        scope = {**scope, "headers": headers.raw}
        is_kept = scope["method"] == "GET" and _KEPT.match(scope["path"]) is not None
        if coding is None or not is_kept or "range" in headers:
            await self.app(scope, receive, _Packed(send, coding))
        else:
            for message in await self._file(scope, receive, coding):
                await send(message)

    async def _file(self, scope: Scope, receive: Receive, coding: str) -> list[Message]:
        """The answer to a call for a file of the frontend, packed; one file is packed at a time, and once."""
        key = scope["path"], coding
        if key in self._kept:
            return self._kept[key]
        async with self._keeping:
            if key in self._kept:
                return self._kept[key]
            messages: list[Message] = []

            async def collect(message: Message) -> None:
                messages.append(message)

            await self.app(scope, receive, _Packed(collect, coding))
            size = sum(len(message.get("body", b"")) for message in messages)
            if messages[0]["status"] == 200 and self._kept_bytes + size <= self.most_kept_bytes:
                self._kept[key] = messages
                self._kept_bytes += size
            return messages


class _Packed:
    """A `send` that holds an answer back until it is whole, then sends it packed; what is not packed passes at once."""

    def __init__(self, send: Send, coding: str | None) -> None:
        self.send = send
        self.coding = coding
        self.start: Message | None = None
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            packable = message["status"] == 200 and _is_packable(headers)
            if packable:
                headers.add_vary_header("Accept-Encoding")
            message = {**message, "headers": headers.raw}
            if packable and self.coding is not None:
                self.start = message
                return
        elif self.start is not None and self.coding is not None:
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_whole(self.start, self.coding)
            return
        await self.send(message)

    async def _send_whole(self, start: Message, coding: str) -> None:
        body = bytes(self.body)
        headers = MutableHeaders(raw=start["headers"])
        if len(body) >= _LEAST_BYTES:
            # In a thread, since packing the page or the largest script takes longer than a call may hold up the others.
            body = await asyncio.to_thread(_PACKERS[coding], body)
            headers["Content-Encoding"] = coding
            headers["Content-Length"] = str(len(body))
            # Packed, the file is equal to the other forms in what it says, but not byte for byte.
            del headers["Accept-Ranges"]
            if "etag" in headers and not headers["etag"].startswith("W/"):
                headers["ETag"] = f"W/{headers['etag']}"
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


def _is_packable(headers: Headers) -> bool:
    told = headers.get("content-length", "")
    is_short = told.isdigit() and int(told) < _LEAST_BYTES
    is_text = _PACKABLE.match(headers.get("content-type", "")) is not None
    return is_text and not is_short and "content-encoding" not in headers
