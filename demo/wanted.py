"""Whether whoever asked is still there: Gradio's queue knows, and the models ask before each token."""

from collections.abc import Callable

import gradio as gr
from gradio.context import LocalContext


def asker_is_there() -> Callable[[], bool]:
    """A question about the event that this thread answers now, to be asked again and again while it does."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    if blocks is None or event_id is None:
        # What does not go through the queue is over in a moment.
        return lambda: True
    events = blocks._queue.event_ids_to_events

    def is_there() -> bool:
        # A cancelled event has left the queue. Gradio says of one whose stream was closed that it is not alive, and of
        # one whose page was, that it is closed; so does our own line of one that nobody listens to.
        event = events.get(event_id)
        return event is not None and event.alive and not event.closed

    return is_there


class Stops:
    """The pages, by Gradio's session, whose visitor pressed Stop since their last run began."""

    def __init__(self) -> None:
        self._pages: set[str] = set()

    def begins(self, request: gr.Request) -> Callable[[], bool]:
        """A run of this page begins; whether it is still wanted, to be asked while it goes on."""
        page = str(request.session_hash)
        self._pages.discard(page)
        return lambda: page not in self._pages

    def stop(self, request: gr.Request) -> None:
        """The visitor pressed Stop."""
        self._pages.add(str(request.session_hash))
