"""Pieces that the layers around the page share: reading a call's body once, and answering in its place."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send


class TooLarge(Exception):
    """A call has more bytes than any call may have."""


async def body_of(scope: Scope, receive: Receive, most_bytes: int) -> bytes:
    """The whole body of a call; raises `TooLarge` as soon as it is known to be, so that it is never held."""
    told = Headers(scope=scope).get("content-length", "")
    if told.isdigit() and int(told) > most_bytes:
        raise TooLarge
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > most_bytes:
            raise TooLarge
        if not message.get("more_body", False):
            return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once more, then whatever comes after it."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with one sentence, under both names that Gradio's clients look for."""
    response = JSONResponse({"detail": sentence, "error": sentence}, status, headers)
    await response(scope, receive, send)


@contextmanager
def counted(counts: Counter[str], who: str) -> Iterator[None]:
    """Count one more of `who` inside."""
    counts[who] += 1
    try:
        yield
    finally:
        counts[who] -= 1
        if not counts[who]:
            del counts[who]


def host_name(address: str) -> str:
    """The name of the host in an origin or a `Host` header, "" for none."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""
