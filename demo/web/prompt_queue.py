"""Gradio's queue without its clock: a run begins the moment that there is one and room for it.

Gradio looks a thousand times a second whether it may begin a run, and tells everyone who waits of every run that began.
Both are paid by the one thread that also serves the page, and most by a crowd. Calls of endpoints (`demo.web.called`)
wait in the same line.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import gradio as gr
from anyio.to_thread import run_sync
from gradio.queueing import Event, Queue
from gradio.server_messages import (
    EstimationMessage,
    EventMessage,
    ProcessCompletedMessage,
    ProcessStartsMessage,
    ProgressMessage,
)
from gradio.utils import run_coro_in_background, set_task_name

from demo.web.called import CANCELLED, SERVER_STOPPED, Called, Told
from demo.web.mailboxes import Mailboxes
from demo.web.unfetched import Unfetched

TOLD_EVERY_S = 0.2
"""How often whoever waits is told of the place in line."""

_PROGRESS_EVERY_S = 0.05
_ON_THE_WAY = (EstimationMessage, ProcessStartsMessage, ProgressMessage)
"""Messages that the stream of a call does not pass on."""


def make_prompt(blocks: gr.Blocks, unfetched: Unfetched) -> None:
    """Let the queue of `blocks`, which is not started yet, be such a queue; `unfetched` bounds what waits in it."""
    queue = blocks._queue
    queue.__class__ = PromptQueue
    cast(PromptQueue, queue).prepare(unfetched)


def session_of_event(queue: Queue, event_id: str) -> str:
    """The session whose stream tells of an event, as Gradio looks it up; events without one have their own."""
    if event := queue.event_ids_to_events.get(event_id):
        return event.session_hash
    sessions = queue.pending_event_ids_session.items()
    return next((session for session, events in sessions if event_id in events), event_id)


class PromptQueue(Queue):
    """Begins what waits when something has changed; every method runs on the loop that serves the page."""

    def prepare(self, unfetched: Unfetched) -> None:
        """Add what Gradio's own queue has not."""
        self.progress_update_sleep_when_free = _PROGRESS_EVERY_S
        self._changed = asyncio.Event()
        self._told_at_s: dict[str, float] = {}
        self._to_tell: set[str] = set()
        self._unfetched = unfetched
        self._held: dict[str, Called] = {}
        self.pending_messages_per_session = Mailboxes(unfetched, self._is_needed, self._forget)  # type: ignore[assignment]
        # The streams that are open, by session.
        self._heard: Counter[str] = Counter()

    async def push(self, *args: Any, **kwargs: Any) -> Any:
        """Put an event of the page into the line."""
        pushed = await super().push(*args, **kwargs)
        self._changed.set()
        return pushed

    def join(self, called: Called) -> None:
        """Put the call of an endpoint into the line."""
        self.create_event_queue_for_fn(called.fn)
        self.event_ids_to_events[called._id] = called
        self._held[called._id] = called
        called.answer.add_done_callback(lambda _: self._hold(called))
        if called.session_hash != called._id:
            # The session may have a stream, too.
            if called.session_hash not in self.pending_messages_per_session:
                self.pending_messages_per_session[called.session_hash] = asyncio.Queue()
            self.pending_event_ids_session.setdefault(called.session_hash, set()).add(called._id)
        self.event_queue_per_concurrency_id[called.concurrency_id].queue.append(called)
        self._changed.set()

    def called(self, event_id: str) -> Called | None:
        """The call that is this event, until somebody has fetched its answer."""
        return self._held.get(event_id)

    def is_told(self, session: str) -> bool:
        """Whether there is anything that a stream of this session could tell, now or later."""
        return session in self.pending_messages_per_session

    def fetched(self, called: Called) -> None:
        """Whoever asked has the answer, or it has waited for too long."""
        self._held.pop(called._id, None)
        self._unfetched.release(called)
        untold = self.pending_event_ids_session.get(called.session_hash)
        if untold is not None:
            untold.discard(called._id)
            if not untold:
                del self.pending_event_ids_session[called.session_hash]

    @contextmanager
    def heard(self, session: str) -> Iterator[None]:
        """Somebody listens inside to all that is told to a session."""
        self._heard[session] += 1
        for event_id in self.pending_event_ids_session.get(session, set()):
            called = self._held.get(event_id)
            if called is not None and called.answer.done():
                self._tell_session(called, called.answer.result())
        for concurrency_id in self.event_queue_per_concurrency_id:
            self.broadcast_estimations(concurrency_id)
        try:
            yield
        finally:
            self._heard[session] -= 1
            if not self._heard[session]:
                del self._heard[session]

    async def process_events(self, *args: Any, **kwargs: Any) -> None:
        """Run an event of the page, then let the next one begin."""
        try:
            await super().process_events(*args, **kwargs)
        finally:
            self._changed.set()

    async def start_processing(self) -> None:
        """Begin each event as soon as there is room for it, until the page is closed."""
        try:
            while not self.stopped:
                self._changed.clear()
                while self._begin_next():
                    pass
                await self._changed.wait()
        finally:
            self.stopped = True
            self._cancel_asyncio_tasks()  # type: ignore[no-untyped-call]
            for line in self.event_queue_per_concurrency_id.values():
                for event in line.queue:
                    _end(event, SERVER_STOPPED)

    async def start_progress_updates(self) -> None:
        """Tell of progress. Gradio's own loop would hold the last event, with its texts, until there is another."""
        while not self.stopped:
            self._tell_progress()
            await asyncio.sleep(self.progress_update_sleep_when_free)

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """Forget what waits for a listener who left, and let what runs for them end."""
        for line in self.event_queue_per_concurrency_id.values():
            for event in line.queue:
                if event.session_hash == session_hash or event._id == event_id:
                    self._held.pop(event._id, None)
                    self._unfetched.release(event)
        await super().clean_events(session_hash=session_hash, event_id=event_id)

    async def remove_from_queue(self, event_id: str) -> None:
        """Let an event leave the line that was cancelled while it waited."""
        event = self.event_ids_to_events.get(event_id)
        await super().remove_from_queue(event_id)
        if event is not None and event_id not in self.event_ids_to_events:
            _end(event, CANCELLED)

    def send_message(self, event: Event, event_message: EventMessage) -> None:
        """Tell whoever asked for an event, unless nobody would hear it."""
        if event.session_hash not in self.pending_messages_per_session:
            return
        is_call = isinstance(event, Called) or (event.data is not None and event.data.simple_format)
        if not is_call or event.session_hash in self._heard or not isinstance(event_message, _ON_THE_WAY):
            super().send_message(event, event_message)

    def broadcast_estimations(self, concurrency_id: str, after: int | None = None) -> None:
        """Tell who waits of the place in line: a newcomer at once, everyone else now and then."""
        if after is not None:
            super().broadcast_estimations(concurrency_id, after)
        elif concurrency_id not in self._to_tell:
            self._to_tell.add(concurrency_id)
            wait_s = self._told_at_s.get(concurrency_id, 0.0) + TOLD_EVERY_S - time.monotonic()
            asyncio.get_running_loop().call_later(max(0.0, wait_s), self._tell, concurrency_id)

    def _hold(self, called: Called) -> None:
        """Count the answer until somebody fetches it."""
        if called._id in self._held and not called.answer.cancelled():
            self._unfetched.hold(called, len(called.answer.result().text), lambda: self.fetched(called))

    def _is_needed(self, session: str) -> bool:
        """Whether somebody listens to a session, or an event of it waits or goes on."""
        events = self.pending_event_ids_session.get(session, set())
        return session in self._heard or any(each in self.event_ids_to_events for each in events)

    def _forget(self, session: str) -> None:
        """Nobody is told any more of what ended in a session."""
        events = self.pending_event_ids_session.get(session, set())
        events.intersection_update(self.event_ids_to_events)
        if not events:
            self.pending_event_ids_session.pop(session, None)

    def _tell(self, concurrency_id: str) -> None:
        self._to_tell.discard(concurrency_id)
        self._told_at_s[concurrency_id] = time.monotonic()
        if self._heard:
            super().broadcast_estimations(concurrency_id)

    def _tell_progress(self) -> None:
        for event in (event for job in self.active_jobs for event in job or ()):
            if event.progress_pending and event.progress:
                event.progress_pending = False
                self.send_message(event, event.progress)

    def _tell_session(self, called: Called, told: Told) -> None:
        output = {"data": told.output} if told.success else told.output
        message = ProcessCompletedMessage(output=output or {}, success=told.success)
        self.send_message(called, message)

    def _begin_next(self) -> bool:
        """Begin one event, as Gradio would; says whether there was one and room for it."""
        if None not in self.active_jobs:
            return False
        # Nothing here waits, so nobody else changes the line meanwhile.
        found = self.get_events()
        if found is None:
            return False
        events, batch, concurrency_id = found
        self.active_jobs[self.active_jobs.index(None)] = events
        line, began, event = self.event_queue_per_concurrency_id[concurrency_id], time.time(), events[0]
        line.current_concurrency += 1
        line.start_times_per_fn[event.fn].add(began)
        if isinstance(event, Called):
            self._run(event, batch, self._answer(event, began))
        else:
            self._run(event, batch, self.process_events(events, batch, began, event.fn))
        if self.live_updates:
            self.broadcast_estimations(concurrency_id)
        return True

    def _run(self, event: Event, batch: bool, run: Coroutine[Any, Any, None]) -> None:
        task = run_coro_in_background(lambda: run)
        # By this name, whoever cancels finds it.
        set_task_name(task, event.session_hash, event.fn._id, event._id, batch)
        self._asyncio_tasks.add(task)
        task.add_done_callback(self._asyncio_tasks.discard)

    async def _answer(self, called: Called, began: float) -> None:
        """Run a call in a thread of its own."""
        told = SERVER_STOPPED
        try:
            if called.alive:
                self.send_message(called, ProcessStartsMessage())
                told = await run_sync(called.run, self.blocks, limiter=self.blocks.limiter)
                self.process_time_per_fn[called.fn].add(time.time() - began)
        except asyncio.CancelledError:
            told = SERVER_STOPPED if self.stopped else CANCELLED
            raise
        finally:
            self._leave(called, began)
            _end(called, told)
            if not called.alive:
                self.fetched(called)
            elif called.session_hash in self._heard:
                self._tell_session(called, told)

    def _leave(self, called: Called, began: float) -> None:
        line = self.event_queue_per_concurrency_id[called.concurrency_id]
        line.current_concurrency -= 1
        began_at = line.start_times_per_fn.get(called.fn, set())
        began_at.discard(began)
        if not began_at:
            line.start_times_per_fn.pop(called.fn, None)
        with suppress(ValueError):
            self.active_jobs[self.active_jobs.index([called])] = None
        self.event_ids_to_events.pop(called._id, None)
        self._changed.set()


def _end(event: Event, told: Told) -> None:
    if isinstance(event, Called) and not event.answer.done():
        event.answer.set_result(told)
