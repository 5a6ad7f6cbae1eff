"""The one file that relies on names which Gradio does not document; `tests/web/test_gradio_private.py` checks them."""

import inspect
import json
import time
from abc import ABCMeta
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeVar

import gradio as gr
import orjson
from gradio.components import Component
from gradio.context import LocalContext
from gradio.mcp import GradioMCPServer
from gradio.queueing import Event
from gradio.state_holder import SessionState, StateHolder
from gradio.utils import LRUCache
from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent

from demo.settings import MODEL_QUEUE

SomeComponent = TypeVar("SomeComponent", bound=Component)


def component_class(base: type[SomeComponent], name: str, **own: Any) -> type[SomeComponent]:
    """A subclass of `base` with `own` methods; Gradio's metaclass would write a file beside this module."""
    return ABCMeta.__new__(type(base), name, (base,), {"is_template": True, "__module__": __name__, **own})


def show_values_of_now(blocks: gr.Blocks) -> None:
    """Let pages that are opened from now on begin with the values that the components have now."""
    blocks.config = blocks.get_config_file()


def asker_is_there() -> Callable[[], bool]:
    """A function that says whether the client that asked for this thread's event still waits for its answer."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)

    def is_there() -> bool:
        if blocks is None or event_id is None:
            return True
        # A cancelled event has left the queue; a closed stream ends `alive`, a closed page sets `closed`.
        event = blocks._queue.event_ids_to_events.get(event_id)
        return event is not None and event.alive and not event.closed

    return is_there


SESSION, CALLER = "clearhead.session", "clearhead.caller"
"""The keys of a request's scope under which `Admission` notes who asks."""

UNHEARD_S, UNFETCHED_S = 10.0, 60.0
"""How long a run goes on that no client listens to, and how long an answer waits to be fetched."""

_MOST_UNFETCHED_BYTES = 64_000_000


class ModelQueue:
    """The runs of `blocks` that wait for a model or go on. Every method belongs on the event loop."""

    def __init__(self, blocks: gr.Blocks, unheard_s: float = UNHEARD_S, unfetched_s: float = UNFETCHED_S) -> None:
        self._blocks = blocks
        self._queue = blocks._queue
        self._queue.sleep_when_free = 0.005
        # Gradio keeps the messages of 2,000 sessions, so made-up sessions would push out those of others.
        self._queue.pending_messages_per_session = LRUCache(50_000)
        self._unheard_s, self._unfetched_s = unheard_s, unfetched_s
        # When each session with messages was first seen without a listener, and how many bytes they are.
        self._unfetched: dict[str, tuple[float, int]] = {}

    @cached_property
    def endpoints(self) -> dict[str, Callable[..., Any] | None]:
        """The function of each endpoint by its name."""
        return {str(fn.api_name): fn.fn for fn in self._blocks.fns.values() if fn.api_name}

    @cached_property
    def _of_models(self) -> frozenset[int | str]:
        functions = [fn for fn in self._blocks.fns.values() if fn.concurrency_id == MODEL_QUEUE]
        return frozenset({fn._id for fn in functions} | {str(fn.api_name) for fn in functions})

    def is_for_a_model(self, event: int | str | None) -> bool:
        """Whether the event of this number, or the endpoint of this name, runs a model."""
        return event in self._of_models

    def with_defaults(self, endpoint: str, values: list[Any]) -> list[Any]:
        """The values of an endpoint's call with the defaults of those left out at the end; Gradio asks for all."""
        function = self.endpoints.get(endpoint)
        parameters = inspect.signature(function).parameters.values() if function else ()
        defaults = [each.default for each in parameters if each.annotation is not gr.Request][len(values) :]
        return values if inspect.Parameter.empty in defaults else values + defaults

    @property
    def _line(self) -> list[Event]:
        """The runs that wait, the next first; the list may be sorted in place."""
        line = self._queue.event_queue_per_concurrency_id.get(MODEL_QUEUE)
        return line.queue if line else []

    @property
    def _live(self) -> list[Event]:
        """The runs that wait or go on."""
        return [each for each in list(self._queue.event_ids_to_events.values()) if each.concurrency_id == MODEL_QUEUE]

    @property
    def waiting(self) -> int:
        """The number of runs that wait."""
        return len(self._line)

    @property
    def running(self) -> int:
        """The number of runs that go on."""
        return len(self._live) - self.waiting

    @property
    def calls_waiting(self) -> int:
        """The number of events that wait, including those that run no model."""
        return len(self._queue)

    def of(self, key: str, who: str) -> int:
        """The number of runs that this session (`SESSION`) or caller (`CALLER`) has waiting or running."""
        return sum(each.request.scope.get(key) == who for each in self._live)

    def session_of(self, event_id: object) -> str | None:
        """The session that Gradio knows a run by; None for what is no run."""
        return next((each.session_hash for each in self._live if each._id == event_id), None)

    def take_turns(self) -> None:
        """Sort the line: every session's first run, then every session's second; runs that go on count as earlier."""
        line = self._line
        waits = {event._id for event in line}
        before: Counter[tuple[str, str]] = Counter()
        turns = {}
        for event in [*(each for each in self._live if each._id not in waits), *line]:
            keys = [(key, event.request.scope.get(key, "")) for key in (SESSION, CALLER)]
            turns[event._id] = [before[key] for key in keys]
            before.update(keys)
        line.sort(key=lambda event: turns[event._id])

    def tidy(self, heard: Collection[str]) -> None:
        """Stop runs that nobody listens to, and drop answers that nobody fetches.

        `heard` are the sessions and events whose streams are open.
        """
        now, line = time.monotonic(), self._line
        for event in self._live:
            is_heard = event._id in heard or event.session_hash in heard
            if event not in line and not is_heard and now - event.enqueue_time > self._unheard_s:
                event.closed = True
        self._unfetched = {
            session: self._unfetched.get(session) or (now, _size(messages))
            for session, messages in self._unheard(heard)
        }
        held = sum(size for _, size in self._unfetched.values())
        for session, (since, size) in sorted(self._unfetched.items(), key=lambda each: each[1]):
            if now - since < self._unfetched_s and held <= _MOST_UNFETCHED_BYTES:
                break
            # A stream that is opened later says that there is no such session.
            self._queue.pending_messages_per_session.pop(session, None)
            self._queue.pending_event_ids_session.pop(session, None)
            held -= size

    def _unheard(self, heard: Collection[str]) -> Iterator[tuple[str, Collection[Any]]]:
        """The sessions without a live event that no stream in `heard` (sessions and events) reads; their messages."""
        messages, ids = self._queue.pending_messages_per_session, self._queue.pending_event_ids_session
        for session in list({**ids, **messages}):
            untold = ids.get(session, set())
            if session in heard or any(each in heard or each in self._queue.event_ids_to_events for each in untold):
                continue
            if session in messages:
                yield session, messages[session]._queue  # type: ignore[attr-defined]
            else:
                # A stream that was closed leaves its ids, for which every later stream of its session would wait.
                del ids[session]


def _size(messages: Collection[Any]) -> int:
    """The bytes of some messages as JSON; only their outputs can be large."""
    return sum(len(orjson.dumps(getattr(each, "output", None), default=str)) for each in messages)


class _State(SessionState):
    """The states of a session without a copy of the whole page, which Gradio keeps for links that are off here."""

    def __init__(self, blocks: gr.Blocks) -> None:
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks={}))  # type: ignore[arg-type]

    _update_config = _update_value_in_config = lambda *_: None  # type: ignore[assignment]


class States(StateHolder):
    """The states of all sessions; callers make up sessions, so those of pages that are `shown` are dropped last."""

    def __init__(self, blocks: gr.Blocks, shown: Collection[str], capacity: int = 2_000) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.set_blocks(blocks)
        self.capacity, self._shown = capacity, shown

    def __getitem__(self, session_id: str) -> SessionState:
        """The states of a session, new ones where there are none."""
        if session_id not in self.session_data:
            spare = next((each for each in self.session_data if each not in self._shown), None)
            if len(self.session_data) >= self.capacity and spare is not None:
                del self.session_data[spare], self.time_last_used[spare]
            self.session_data[session_id] = _State(self.blocks)
        return super().__getitem__(session_id)


def answer_tools_in_json(server: GradioMCPServer) -> None:
    """Let every tool answer with JSON, also as `structuredContent`; Gradio would write what Python prints."""
    vars(server)["postprocess_output_data"] = lambda outputs, _url: [
        TextContent(type="text", text=json.dumps(each, ensure_ascii=False)) for each in outputs
    ]
    call_tool = server.mcp_server.request_handlers[CallToolRequest]

    async def call_and_structure(request: CallToolRequest) -> ServerResult:
        result: ServerResult = await call_tool(request)
        answer = result.root
        if isinstance(answer, CallToolResult) and not answer.isError and isinstance(answer.content[0], TextContent):
            answer.structuredContent = json.loads(answer.content[0].text)
        return result

    server.mcp_server.request_handlers[CallToolRequest] = call_and_structure
