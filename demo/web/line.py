"""The line of visitors who wait for a model, as Gradio's queue holds it: how long it is, whose, and in which order.

Gradio serves its queue first come, first served. Here visitors take turns: whoever waits for a first run goes before
another's second. But for `demo.wanted` and the queue itself (`demo.web.prompt_queue`), this is the only module that
looks into it.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
from gradio.queueing import Event
from starlette.requests import Request

from demo.settings import MODEL_QUEUE
from demo.web.prompt_queue import session_of_event
from demo.web.visitors import Visitors


class Line:
    """Reads and orders the queue of `blocks`; every call is made on the loop that serves it, so none needs a lock."""

    def __init__(self, blocks: gr.Blocks, visitors: Visitors) -> None:
        self._blocks = blocks
        self._visitors = visitors
        # Who asked for an event does not change, and is looked up for everyone in line whenever somebody joins it.
        self._callers: WeakKeyDictionary[Event, str] = WeakKeyDictionary()
        self._sessions: WeakKeyDictionary[Event, str] = WeakKeyDictionary()

    def is_for_a_model(self, fn_index: int | None = None, api_name: str = "") -> bool:
        """Whether this event of the page, or the endpoint of this name, waits in the line of the models."""
        numbers, names = self._for_models
        return fn_index in numbers or (api_name != "" and api_name in names)

    def is_an_endpoint(self, api_name: str) -> bool:
        """Whether there is an endpoint of this name."""
        return api_name in self._endpoints

    @property
    def waiting(self) -> int:
        """How many runs wait."""
        return len(self._waiting)

    @property
    def crowd(self) -> int:
        """How many calls wait, small ones too."""
        return len(self._blocks._queue)

    @property
    def running(self) -> int:
        """How many runs go on."""
        return sum(1 for _ in self._live) - self.waiting

    def of_session(self, session: str) -> int:
        """How many runs of this session wait or go on."""
        return sum(self.session_of(event) == session for event in self._live)

    def of_caller(self, caller: str) -> int:
        """How many runs of this caller, in all its sessions, wait or go on."""
        return sum(self._caller(event) == caller for event in self._live)

    def is_live(self, event_id: str) -> bool:
        """Whether this is a run that waits or goes on."""
        return any(event._id == event_id for event in self._live)

    def stream_of(self, event_id: str) -> str:
        """The session whose stream tells of an event."""
        return session_of_event(self._blocks._queue, event_id)

    def give_up(self, event_id: str) -> None:
        """Let a run that goes on end before its next token, with a sentence; one that waits keeps its place."""
        event = self._blocks._queue.event_ids_to_events.get(event_id)
        if event is not None and event not in self._waiting:
            event.closed = True

    def forget_untold(self, session: str) -> None:
        """The stream of a session was closed: what it was not told of is over.

        Gradio would wait for it to be told, and never end another stream of that session.
        """
        queue = self._blocks._queue
        untold = queue.pending_event_ids_session.get(session, set())
        events = ((each, queue.event_ids_to_events.get(each)) for each in list(untold))
        untold -= {each for each, event in events if event is None or not event.alive}
        if not untold:
            queue.pending_event_ids_session.pop(session, None)

    def arrange(self) -> None:
        """Let visitors take turns: first everyone's first run, then everyone's second; runs that go on count too."""
        waiting = self._waiting
        sessions: Counter[str] = Counter()
        callers: Counter[str] = Counter()
        turns: dict[str, tuple[int, int]] = {}
        there = {event._id for event in waiting}
        for event in [*(each for each in self._live if each._id not in there), *waiting]:
            session, caller = self.session_of(event), self._caller(event)
            turns[event._id] = (sessions[session], callers[caller])
            sessions[session] += 1
            callers[caller] += 1
        before = [event._id for event in waiting]
        waiting.sort(key=lambda event: turns[event._id])
        if before != [event._id for event in waiting]:
            self._blocks._queue.broadcast_estimations(MODEL_QUEUE)

    def session_of(self, event: Event) -> str:
        """The session of an event; a call without one is its caller's, and so is a tool's: all tools share one."""
        if event not in self._sessions:
            request: Request = event.request
            is_callers = event.session_hash == event._id or self._visitors.tool_caller(request.scope)
            self._sessions[event] = self._caller(event) if is_callers else event.session_hash
        return self._sessions[event]

    def _caller(self, event: Event) -> str:
        if event not in self._callers:
            request: Request = event.request
            self._callers[event] = self._visitors.caller(request.scope)
        return self._callers[event]

    @cached_property
    def _endpoints(self) -> frozenset[Any]:
        # Called when the page stands.
        return frozenset(fn.api_name for fn in self._blocks.fns.values())

    @cached_property
    def _for_models(self) -> tuple[frozenset[int], frozenset[Any]]:
        """The numbers and the names of the events that wait in the line of the models."""
        functions = [fn for fn in self._blocks.fns.values() if fn.concurrency_id == MODEL_QUEUE]
        return frozenset(fn._id for fn in functions), frozenset(fn.api_name for fn in functions)

    @property
    def _waiting(self) -> list[Event]:
        line = self._blocks._queue.event_queue_per_concurrency_id.get(MODEL_QUEUE)
        return line.queue if line else []

    @property
    def _live(self) -> Iterable[Event]:
        events: dict[Any, Event] = self._blocks._queue.event_ids_to_events
        return (event for event in list(events.values()) if event.concurrency_id == MODEL_QUEUE)
