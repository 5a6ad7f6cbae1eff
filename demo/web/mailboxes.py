"""The messages that Gradio's queue keeps for each session until a stream of that session tells them."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import orjson
from gradio.server_messages import EventMessage

from demo.web.unfetched import Unfetched

_MOST_EMPTY = 2_000
"""How many sessions have a mailbox; beyond, those go that nobody listens to and that nothing is on the way for."""


class Mailboxes(OrderedDict[str, "asyncio.Queue[EventMessage]"]):
    """A mailbox for each session, in place of Gradio's own, which hold any number of bytes for any time.

    A session whose messages have to go loses its mailbox: its stream, or one that is opened later, says that the
    session is not found. `is_needed` says whether somebody listens to a session or an event of it is under way, and
    `forget` is told of each session that is gone.
    """

    def __init__(self, unfetched: Unfetched, is_needed: Callable[[str], bool], forget: Callable[[str], None]) -> None:
        super().__init__()
        self._unfetched = unfetched
        self._is_needed = is_needed
        self._forget = forget

    def __setitem__(self, session: str, _empty: Any) -> None:
        """Give a session a mailbox of ours, whatever Gradio would give it."""
        if session not in self and len(self) >= _MOST_EMPTY:
            self._make_room()
        super().__setitem__(session, _Mailbox(self._unfetched, lambda: self.drop(session)))
        self.move_to_end(session)

    def __delitem__(self, session: str) -> None:
        """Gradio deletes that of a stream that was closed, which may be gone already."""
        mailbox = self.pop(session, None)
        if isinstance(mailbox, _Mailbox):
            mailbox.release_all()

    def drop(self, session: str) -> None:
        """Let go of a session's messages, and of which events it was to be told of."""
        del self[session]
        self._forget(session)

    def _make_room(self) -> None:
        spare = next((session for session in self if not self._is_needed(session)), None)
        if spare is not None:
            self.drop(spare)


class _Mailbox(asyncio.Queue[EventMessage]):
    """A queue whose messages are counted for as long as they are in it."""

    def __init__(self, unfetched: Unfetched, drop: Callable[[], None]) -> None:
        super().__init__()
        self._unfetched = unfetched
        self._drop = drop
        self._keys: deque[object] = deque()

    def _put(self, message: EventMessage) -> None:
        # A stream that waits takes it in this very moment, so that it need not be measured.
        is_awaited = self.empty() and self._getters  # type: ignore[attr-defined]
        size = 0 if is_awaited else _size(message)
        super()._put(message)
        key = object()
        self._keys.append(key)
        self._unfetched.hold(key, size, self._drop)

    def _get(self) -> EventMessage:
        if self._keys:
            self._unfetched.release(self._keys.popleft())
        return super()._get()

    def release_all(self) -> None:
        """Count nothing of it any more."""
        while self._keys:
            self._unfetched.release(self._keys.pop())


def _size(message: EventMessage) -> int:
    """How many bytes a message is as JSON, of which only its output can be large."""
    output = getattr(message, "output", None)
    return len(orjson.dumps(output, default=str, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY))
