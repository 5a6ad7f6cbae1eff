"""What Gradio remembers of every page and caller: its states, and no copy of the whole page.

Gradio keeps such a copy for links to a saved state, which are off here. It is made anew for each session, and who calls
an endpoint without one has a new session at each call: the copy was most of what a short answer took.
"""

import time
from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from fastapi import FastAPI
from gradio.blocks import Blocks
from gradio.components import Dropdown
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.routing import Mount

from demo.attempt import Finished
from demo.attention import AttentionSource
from demo.caches import Origin

_MOST_HIDDEN = 1_000
"""Each takes 28 kB and what its states hold."""

_HIDDEN_FOR = timedelta(hours=1)


def keep_states_only(app: FastAPI, blocks: Blocks, shown: Container[str]) -> "PageStates":
    """Let the Gradio app that is mounted in `app` for `blocks` remember no more; `shown` are the open pages."""
    (gradio_app,) = [each.app for each in app.routes if isinstance(each, Mount) and isinstance(each.app, App)]
    states = gradio_app.state_holder = PageStates(shown)
    states.set_blocks(blocks)
    return states


class PageStates(StateHolder):
    """Sessions by their hash. Those that no open page belongs to are dropped after an hour, or when they are too many.

    Whoever calls makes up the hash, so sessions that somebody looks at are not dropped for others that never were.
    """

    def __init__(self, shown: Container[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._shown = shown

    def __getitem__(self, session_id: str) -> SessionState:
        """The session, a new one where there is none."""
        if session_id not in self.session_data:
            self._make_room()
            self.session_data[session_id] = PageState(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Note that a session was just used."""
        with self.lock:
            if session_id in self.session_data:
                self.session_data.move_to_end(session_id)

    def forget(self, session: str, run_id: str = "") -> None:
        """Empty what pages hold of the runs of a session, or of one run; `session` is not Gradio's but the log's."""
        self._forget(lambda origin: origin.is_of(session, run_id))

    def delete_all_expired_state(self) -> None:
        """Called every second: empty what may not be held any longer, too."""
        super().delete_all_expired_state()  # type: ignore[no-untyped-call]
        now = time.time()
        self._forget(lambda origin: origin.until <= now)

    def _forget(self, is_meant: Callable[[Origin], bool]) -> None:
        for page in list(self.session_data.values()):
            cast(PageState, page).forget(is_meant)

    def _make_room(self) -> None:
        with self.lock:
            # Quiet for longest first.
            hidden = [each for each in self.session_data if each not in self._shown]
            too_many, long_ago = len(hidden) - _MOST_HIDDEN + 1, datetime.now() - _HIDDEN_FOR
            for number, each in enumerate(hidden):
                if number < too_many or self.time_last_used.get(each, long_ago) <= long_ago:
                    del self.session_data[each]
                    self.time_last_used.pop(each, None)


class PageState(SessionState):
    """One session, which knows its page's blocks and holds no values but those of its states."""

    def __init__(self, blocks: Blocks) -> None:
        # The copy is of what stands in `blocks.blocks`.
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks={}))  # type: ignore[arg-type]
        self._first = blocks.default_config.blocks

    def forget(self, is_meant: Callable[[Origin], bool]) -> None:
        """Empty the states that hold a text whose origin `is_meant`, and what else of the page holds its words."""
        blocks, found = self.blocks_config.blocks, False
        for key, value in list(self.state_data.items()):
            if is_meant(_origin_of(value)):
                self.state_data[key] = _without_text(value, getattr(blocks.get(key), "value", None))
                found = True
        if not found:
            return
        for key, value in list(self.state_data.items()):
            if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
                # The words behind blanks.
                self.state_data[key] = ("",) * len(value)
        for key, block in list(blocks.items()):
            # Words to choose from, as they were listed for a text; what a visitor chooses is a place among them. Gradio
            # keeps the copy of a changed block under the copy's own number, too.
            if isinstance(block, Dropdown) and block is not self._first.get(key):
                unlisted = {"choices": [], "allow_custom_value": True, "filterable": True, "render": False}
                blocks[key] = type(block)(**block.constructor_args | unlisted)

    def _update_config(self, key: int) -> None:
        """Nothing is copied later either."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nothing is copied later either."""


def _origin_of(value: object) -> Origin:
    """Whose text a state holds, nobody's where it holds no run."""
    source = value.source if isinstance(value, Finished) else value
    return source.origin if isinstance(source, AttentionSource) else Origin()


def _without_text(value: Finished | AttentionSource, first: Any) -> object:
    """A run of which only the id is left, with the rest as in `first`, the run that the page opened on."""
    if isinstance(value, AttentionSource):
        return value.forgotten
    return replace(first, run=replace(first.run, id=value.run.id), source=value.source.forgotten)
