"""The queue of model runs: sorts it fairly, and drops runs and answers that no client waits for any more."""

import inspect
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import gradio as gr
import orjson
from gradio.queueing import Event

from demo.settings import MODEL_QUEUE
from demo.web.gradio_private import GradioQueue
from demo.web.traces import handling

SESSION, CALLER = "clearhead.session", "clearhead.caller"
"""The keys of a request's scope under which `Admission` notes the session and the caller."""

UNHEARD_S, UNFETCHED_S = 10.0, 60.0
"""The seconds that a run goes on without a client that listens, and that an answer waits to be fetched."""

_MOST_UNFETCHED_BYTES = 64_000_000


class ModelQueue(GradioQueue):
    """The runs of `blocks` that wait for a model or are running. Call every method on the event loop."""

    def __init__(self, blocks: gr.Blocks, unheard_s: float = UNHEARD_S, unfetched_s: float = UNFETCHED_S) -> None:
        super().__init__(blocks)
        self._blocks = blocks
        self._unheard_s, self._unfetched_s = unheard_s, unfetched_s
        # When each session with messages was first seen without a listener, and the size of the messages in bytes.
        self._unfetched: dict[str, tuple[float, int]] = {}
        self._watchers: list[Callable[[float], None]] = []

    def watch(self, watcher: Callable[[float], None]) -> None:
        """Call `watcher` with the seconds that a run has waited, whenever one leaves the queue."""
        self._watchers.append(watcher)

    @contextmanager
    def handling(self, event: Event) -> Iterator[None]:
        """Call the watchers with the wait of a run, and trace the handling of the event."""
        waited_s = time.monotonic() - event.enqueue_time
        if event.concurrency_id == MODEL_QUEUE:
            for watcher in self._watchers:
                watcher(waited_s)
        with handling(event.request.scope, event.fn.name or "", waited_s):
            yield

    @cached_property
    def endpoints(self) -> dict[str, Callable[..., Any] | None]:
        """The function of each endpoint by its name."""
        return {str(fn.api_name): fn.fn for fn in self._blocks.fns.values() if fn.api_name}

    @cached_property
    def _of_models(self) -> frozenset[int | str]:
        functions = {key: fn for key, fn in self._blocks.fns.items() if fn.concurrency_id == MODEL_QUEUE}
        return frozenset({*functions, *(str(fn.api_name) for fn in functions.values())})

    def is_for_a_model(self, event: int | str | None) -> bool:
        """Whether the event of this number, or the endpoint of this name, runs a model."""
        return event in self._of_models

    def with_defaults(self, endpoint: str, values: list[Any]) -> list[Any]:
        """The values of a call to an endpoint, with defaults for those left out at the end; Gradio requires all."""
        function = self.endpoints.get(endpoint)
        parameters = inspect.signature(function).parameters.values() if function else ()
        defaults = [each.default for each in parameters if each.annotation is not gr.Request][len(values) :]
        return values if inspect.Parameter.empty in defaults else values + defaults

    @property
    def waiting(self) -> int:
        """The number of runs that wait."""
        return len(self.line)

    @property
    def running(self) -> int:
        """The number of runs that are running."""
        return len(self.live) - self.waiting

    def of(self, key: str, who: str) -> int:
        """The number of runs that this session (`SESSION`) or caller (`CALLER`) has waiting or running."""
        return sum(each.request.scope.get(key) == who for each in self.live)

    def session_of(self, event_id: object) -> str | None:
        """Gradio's session of the run with this event id; None where there is no such run."""
        return next((each.session_hash for each in self.live if each._id == event_id), None)

    def take_turns(self) -> None:
        """Sort the line: every session's first run, then every session's second; running ones count as earlier."""
        line = self.line
        waits = {event._id for event in line}
        before: Counter[tuple[str, str]] = Counter()
        turns = {}
        for event in [*(each for each in self.live if each._id not in waits), *line]:
            keys = [(key, event.request.scope.get(key, "")) for key in (SESSION, CALLER)]
            turns[event._id] = [before[key] for key in keys]
            before.update(keys)
        line.sort(key=lambda event: turns[event._id])

    def tidy(self, heard: Collection[str]) -> None:
        """Stop runs that no client listens to, and drop answers that no client fetches.

        `heard` are the sessions and events whose streams are open.
        """
        now, line = time.monotonic(), self.line
        for event in self.live:
            is_heard = event._id in heard or event.session_hash in heard
            if event not in line and not is_heard and now - event.enqueue_time > self._unheard_s:
                event.closed = True
        self._unfetched = {
            session: self._unfetched.get(session) or (now, _size(messages)) for session, messages in self.unheard(heard)
        }
        held = sum(size for _, size in self._unfetched.values())
        for session, (since, size) in sorted(self._unfetched.items(), key=lambda each: each[1]):
            if now - since < self._unfetched_s and held <= _MOST_UNFETCHED_BYTES:
                break
            self.drop(session)
            held -= size


def _size(messages: Collection[Any]) -> int:
    """The size in bytes of the outputs of `messages` as JSON; their other fields are never large."""
    return sum(len(orjson.dumps(getattr(each, "output", None), default=str)) for each in messages)
