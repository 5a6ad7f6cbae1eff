"""Reads a posted call as Gradio will read it, so that the call that is counted is the one that runs; refuses calls.

Gradio would turn an event's number from a string, a float or a boolean into an integer. No client sends those, so they
are refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from demo.language import N_

_LONGEST_SESSION = 128
_TYPES: dict[str, type] = {
    "fn_index": int,
    "trigger_id": int,
    "session_hash": str,
    "event_id": str,
    "simple_format": bool,
    "batched": bool,
}
"""The fields that Gradio reads of a call besides its values, and the type of each; each may be left out or null."""

MALFORMED = N_("This call does not fit the endpoint; /?view=api says what it takes.")
NO_FILES = N_("Files cannot be sent to this page.")
_NO_SESSION = N_("The session of this call cannot be used.")


class UnusableCall(Exception):
    """A call that is refused; its only argument is the sentence for the caller, in English."""


@dataclass(frozen=True)
class Call:
    """A call's body, with the number of the event that it names, if any, and its session, "" for none."""

    fn_index: int | None
    session: str
    body: dict[str, Any]


def read_call(body: bytes, by_name: bool) -> Call:
    """The call in `body`; `by_name` says that the body holds values by name and nothing else.

    Raises `UnusableCall` for any other body.
    """
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        raise UnusableCall(MALFORMED) from None
    if not isinstance(call, dict):
        raise UnusableCall(MALFORMED)
    if _names_a_file(call):
        raise UnusableCall(NO_FILES)
    if by_name:
        return Call(None, "", call)
    for name, kind in _TYPES.items():
        # Not isinstance: true and false are integers in Python.
        if call.get(name) is not None and type(call[name]) is not kind:
            raise UnusableCall(_NO_SESSION if name == "session_hash" else MALFORMED)
    session = call.get("session_hash") or ""
    if len(session) > _LONGEST_SESSION:
        raise UnusableCall(_NO_SESSION)
    # Only Gradio's queue makes batches.
    if call.get("batched"):
        raise UnusableCall(MALFORMED)
    return Call(call.get("fn_index"), session, call)


def _names_a_file(call: Any) -> bool:
    """Whether Gradio would take a part of the call for a file, and read or fetch it."""
    parts = [call]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if isinstance(part.get("path"), str):
                return True
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return False


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
