"""What Gradio remembers of every page and caller: its states, and no copy of the whole page.

Gradio keeps such a copy for links to a saved state, which are off here. It is made anew for each session, and who calls
an endpoint without one has a new session at each call: the copy was most of what a short answer took.
"""

from collections.abc import Container
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI
from gradio.blocks import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.routing import Mount

_MOST_HIDDEN = 1_000
"""Each takes 28 kB and what its states hold."""

_HIDDEN_FOR = timedelta(hours=1)


def keep_states_only(app: FastAPI, blocks: Blocks, shown: Container[str]) -> None:
    """Let the Gradio app that is mounted in `app` for `blocks` remember no more; `shown` are the open pages."""
    (gradio_app,) = [each.app for each in app.routes if isinstance(each, Mount) and isinstance(each.app, App)]
    gradio_app.state_holder = PageStates(shown)
    gradio_app.state_holder.set_blocks(blocks)


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

    def _update_config(self, key: int) -> None:
        """Nothing is copied later either."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nothing is copied later either."""
