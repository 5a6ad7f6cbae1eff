"""The one file that relies on names which Gradio does not document; `tests/web/test_gradio_private.py` checks them."""

import json
from abc import ABCMeta
from collections.abc import Callable, Collection, Iterator
from types import SimpleNamespace
from typing import Any, TypeVar

import gradio as gr
from gradio.components import Component
from gradio.context import LocalContext
from gradio.mcp import GradioMCPServer
from gradio.queueing import Event
from gradio.state_holder import SessionState, StateHolder
from gradio.utils import LRUCache
from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent

SomeComponent = TypeVar("SomeComponent", bound=Component)


def component_class(base: type[SomeComponent], name: str, **own: Any) -> type[SomeComponent]:
    """A subclass of `base` with `own` methods; Gradio's metaclass would write a file beside this module."""
    return ABCMeta.__new__(type(base), name, (base,), {"is_template": True, "__module__": __name__, **own})


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


class GradioQueue:
    """Reads Gradio's queue: events wait in a line for each `concurrency_id`, answers as messages of a session."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self._queue = blocks._queue
        self._queue.sleep_when_free = 0.005
        # Gradio keeps the messages of 2,000 sessions, so made-up sessions would push out those of others.
        self._queue.pending_messages_per_session = LRUCache(50_000)

    def __len__(self) -> int:
        return len(self._queue)

    def waiting(self, concurrency_id: str) -> list[Event]:
        """The events that wait, the next first; the list may be sorted in place."""
        line = self._queue.event_queue_per_concurrency_id.get(concurrency_id)
        return line.queue if line else []

    def live(self, concurrency_id: str) -> list[Event]:
        """The events that wait or run."""
        events = list(self._queue.event_ids_to_events.values())
        return [each for each in events if each.concurrency_id == concurrency_id]

    def unheard(self, heard: Collection[str]) -> Iterator[tuple[str, Collection[Any]]]:
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

    def forget(self, session: str) -> None:
        """Drop the messages of a session; a stream that is opened later says that there is no such session."""
        self._queue.pending_messages_per_session.pop(session, None)
        self._queue.pending_event_ids_session.pop(session, None)


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
