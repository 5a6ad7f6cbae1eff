"""The one file that relies on names which Gradio does not document; `tests/web/test_gradio_private.py` checks them.

The changes to Gradio's scripts are in `gradio_scripts.py`.
"""

from abc import ABCMeta
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, TypeVar

import gradio as gr
from gradio.components import Component
from gradio.context import LocalContext
from gradio.data_classes import BlocksConfigDict
from gradio.mcp import GradioMCPServer
from gradio.queueing import Event
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from gradio.utils import LRUCache
from mcp.types import TextContent

from demo.settings import MODEL_QUEUE

SomeComponent = TypeVar("SomeComponent", bound=Component)


def component_class(base: type[SomeComponent], name: str, **own: Any) -> type[SomeComponent]:
    """A subclass of `base` with the methods `own`, made without Gradio's metaclass, which would write a file here."""
    return ABCMeta.__new__(type(base), name, (base,), {"is_template": True, "__module__": __name__, **own})


@contextmanager
def without_apps() -> Iterator[None]:
    """Keep Blocks built inside from making an app: Gradio makes three, 0.1 seconds each, and serves a fourth."""
    make_app = App.create_app
    App.create_app = staticmethod(lambda *_args, **_settings: None)  # type: ignore[assignment]
    try:
        yield
    finally:
        App.create_app = make_app  # type: ignore[method-assign]


class Page(gr.Blocks):
    """Blocks that are described once, when they are complete; Gradio would do it four times, 0.15 seconds each.

    `described_here` returns the description for a call in another language, and `None` for a call in the page's own.
    """

    described_here: Callable[[], BlocksConfigDict | None] = staticmethod(lambda: None)

    @property
    def config(self) -> BlocksConfigDict:
        """The description of the page that a browser gets."""
        return self.described_here() or self.described

    @config.setter
    def config(self, described: BlocksConfigDict) -> None:
        self.described = described

    def get_config_file(self) -> BlocksConfigDict:
        """The description of every component and event; while the blocks are being built, of the pages alone."""
        if not getattr(self, "exited", False):
            return {"pages": self.pages}  # type: ignore[typeddict-item]
        described = super().get_config_file()
        # A complete page gains no components, so later calls only ask how it is served.
        tree = {part: described[part] for part in ("page", "components", "dependencies", "layout")}
        vars(self.default_config)["get_config"] = lambda _renderable=None: tree
        return described


def described_anew(page: Page, build: Callable[[], Page]) -> BlocksConfigDict:
    """The description of `page` with the components of `build()`, which differ from its own in words and values alone.

    They get the ids of the components of `page`, so that a browser calls the same events. Their own ids may have gaps:
    Gradio makes a component for each update of one, in any thread that answers an event.
    """
    number = itemgetter("id")
    known, anew = (sorted(each["components"], key=number) for each in (page.described, build().get_config_file()))
    for old, new in zip(known, anew, strict=True):
        new["id"] = old["id"]
        if "component_ids" in new["props"]:
            new["props"]["component_ids"] = old["props"]["component_ids"]
    return {**page.described, "components": anew}


def asker_is_there() -> Callable[[], bool]:
    """A function that returns whether the client of this thread's event still waits for its answer."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)

    def is_there() -> bool:
        if blocks is None or event_id is None:
            return True
        # A cancelled event has left the queue; a closed stream ends `alive`, a closed page sets `closed`.
        event = blocks._queue.event_ids_to_events.get(event_id)
        return event is not None and event.alive and not event.closed

    return is_there


def headers_of_call() -> Mapping[str, str] | None:
    """The headers of the call that this thread answers; `None` outside of a handler's call."""
    request = LocalContext.request.get(None)
    return None if request is None else request.headers


class GradioQueue:
    """The events in Gradio's queue of `blocks`. Call every method on the event loop."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self._queue = blocks._queue
        self._queue.sleep_when_free = 0.005
        # Gradio keeps the messages of 2,000 sessions, so made-up sessions would push out those of others.
        self._queue.pending_messages_per_session = LRUCache(50_000)
        self._process_events = self._queue.process_events
        self._queue.process_events = self._process  # type: ignore[assignment, method-assign]

    def handling(self, event: Event) -> AbstractContextManager[None]:
        """A context manager around the handling of an event, from when it leaves the queue until its last answer."""
        return nullcontext()

    async def _process(self, events: list[Event], *arguments: Any) -> None:
        with self.handling(events[0]):
            await self._process_events(events, *arguments)

    @property
    def calls_waiting(self) -> int:
        """The number of events that wait, including those that run no model."""
        return len(self._queue)

    @property
    def line(self) -> list[Event]:
        """The runs that wait, the next first; the list may be sorted in place."""
        line = self._queue.event_queue_per_concurrency_id.get(MODEL_QUEUE)
        return line.queue if line else []

    @property
    def live(self) -> list[Event]:
        """The runs that wait or are running."""
        return [each for each in list(self._queue.event_ids_to_events.values()) if each.concurrency_id == MODEL_QUEUE]

    def unheard(self, heard: Collection[str]) -> Iterator[tuple[str, Collection[Any]]]:
        """Yield the sessions whose messages no client reads, each with its messages; they have no live event either.

        `heard` holds the sessions and events whose streams are open.
        """
        messages, ids = self._queue.pending_messages_per_session, self._queue.pending_event_ids_session
        for session in list({**ids, **messages}):
            untold = ids.get(session, set())
            if session in heard or any(each in heard or each in self._queue.event_ids_to_events for each in untold):
                continue
            if session in messages:
                yield session, messages[session]._queue  # type: ignore[attr-defined]
            else:
                # A closed stream leaves its event ids, for which every later stream of its session would wait.
                del ids[session]

    def drop(self, session: str) -> None:
        """Drop the messages for a session; a stream opened later answers that there is no such session."""
        self._queue.pending_messages_per_session.pop(session, None)
        self._queue.pending_event_ids_session.pop(session, None)


class _SessionState(SessionState):
    """The states of a session without a copy of the whole page, which Gradio keeps for deep links (off here)."""

    def __init__(self, blocks: gr.Blocks) -> None:
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks={}))  # type: ignore[arg-type]

    _update_config = _update_value_in_config = lambda *_: None  # type: ignore[assignment]


class States(StateHolder):
    """The states of all sessions; callers make up sessions, so those of open pages (`shown`) are dropped last."""

    def __init__(self, blocks: gr.Blocks, shown: Collection[str], capacity: int = 2_000) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.set_blocks(blocks)
        self.capacity, self._shown = capacity, shown

    def __getitem__(self, session_id: str) -> SessionState:
        """The states of a session, made new where it has none."""
        if session_id not in self.session_data:
            spare = next((each for each in self.session_data if each not in self._shown), None)
            if len(self.session_data) >= self.capacity and spare is not None:
                del self.session_data[spare], self.time_last_used[spare]
            self.session_data[session_id] = _SessionState(self.blocks)
        return super().__getitem__(session_id)


def write_tool_answers(server: GradioMCPServer, write: Callable[[Any], TextContent]) -> None:
    """Let `write` turn every value into a tool's answer; Gradio would write it as Python prints it."""
    vars(server)["postprocess_output_data"] = lambda outputs, _url: [write(each) for each in outputs]
