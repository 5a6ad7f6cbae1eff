"""A posted call, read the way Gradio will read it, so that what is counted here is what runs there.

Gradio turns an event's number from a text, a float or a truth value into a whole number. No client sends those, so they
are refused rather than turned the same way here.
"""

import json
from dataclasses import dataclass
from typing import Any

_LONGEST_SESSION = 128
_TYPES: dict[str, type] = {
    "fn_index": int,
    "trigger_id": int,
    "session_hash": str,
    "event_id": str,
    "simple_format": bool,
    "batched": bool,
}
"""What Gradio reads of a call besides its values, and the one type of each; each may be left out or null."""

_UNREADABLE = "This call does not fit the endpoint; /?view=api says what it takes."
_NO_SESSION = "The session of this call cannot be used."
_NO_FILES = "Files cannot be sent to this page."


class Unusable(Exception):
    """A call that is refused; its only argument is the sentence for the caller."""


@dataclass(frozen=True)
class Posted:
    """The number of the event that a call names in its body, if any, and its session, "" for none."""

    fn_index: int | None
    session: str

    @classmethod
    def read(cls, body: bytes, by_name: bool) -> "Posted":
        """The call in `body`; `by_name` says that the body holds an endpoint's values by their names and no more.

        Raises `Unusable` for what is no such call.
        """
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            raise Unusable(_UNREADABLE) from None
        if not isinstance(call, dict):
            raise Unusable(_UNREADABLE)
        if _names_a_file(call):
            raise Unusable(_NO_FILES)
        if by_name:
            return cls(None, "")
        for name, kind in _TYPES.items():
            # Not isinstance: true and false are whole numbers in Python.
            if call.get(name) is not None and type(call[name]) is not kind:
                raise Unusable(_NO_SESSION if name == "session_hash" else _UNREADABLE)
        session = call.get("session_hash") or ""
        if len(session) > _LONGEST_SESSION:
            raise Unusable(_NO_SESSION)
        # A batch is for Gradio's queue to make.
        if call.get("batched"):
            raise Unusable(_UNREADABLE)
        return cls(call.get("fn_index"), session)


def _names_a_file(call: Any) -> bool:
    """Whether Gradio would take a part of the call for a file, and read or fetch what it names before anyone looks."""
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
