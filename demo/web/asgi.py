"""Functions that the layers around the page share: read the body of a call once, answer in the page's place."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send


class TooLarge(Exception):
    """The body of a call has more bytes than any call may have."""


async def read_body(scope: Scope, receive: Receive, most_bytes: int) -> bytes:
    """The whole body of a call; raises `TooLarge` as soon as it is known to exceed `most_bytes`."""
    length = Headers(scope=scope).get("content-length", "")
    if length.isdigit() and int(length) > most_bytes:
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


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns `body` once, and then whatever `receive` returns."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with one sentence, under both names that Gradio's clients look for."""
    await JSONResponse({"detail": sentence, "error": sentence}, status, headers)(scope, receive, send)
