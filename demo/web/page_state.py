"""What Gradio remembers of every page and caller: its states, and no copy of the whole page.

Gradio keeps such a copy for links to a saved state, which are off here. It is made anew for each session, and who calls
an endpoint without one has a new session at each call: the copy was most of what a short answer took.
"""

from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI
from gradio.blocks import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.routing import Mount


def keep_states_only(app: FastAPI, blocks: Blocks) -> None:
    """Let the Gradio app that is mounted in `app` for `blocks` remember no more than that."""
    (gradio_app,) = [each.app for each in app.routes if isinstance(each, Mount) and isinstance(each.app, App)]
    gradio_app.state_holder = PageStates()  # type: ignore[no-untyped-call]
    gradio_app.state_holder.set_blocks(blocks)


class PageStates(StateHolder):
    """Sessions by their hash; those that were quiet longest are dropped first."""

    def __getitem__(self, session_id: str) -> SessionState:
        """The session, a new one where there is none."""
        if session_id not in self.session_data:
            self.session_data[session_id] = PageState(self.blocks)
        return super().__getitem__(session_id)


class PageState(SessionState):
    """One session, which knows its page's blocks and holds no values but those of its states."""

    def __init__(self, blocks: Blocks) -> None:
        # The copy is of what stands in `blocks.blocks`.
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks={}))  # type: ignore[arg-type]

    def _update_config(self, key: int) -> None:
        """Nothing is copied later either."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nothing is copied later either."""
