"""Values that are the server's alone, though each visitor has their own."""

from typing import Any

import gradio as gr
from gradio.blocks import Block

from demo.web.gradio_private import component_class


def held(value: object) -> gr.State:
    """A state that begins as `value`, which may be large: a recorded answer with its attention, say.

    Gradio copies the value of every state into the page's settings, six times at start, only to take it out again.
    """
    return _HeldState(value)


def _without_value(state: gr.State) -> dict[str, Any]:
    # What any block has; a state has only its value besides, and that stays here.
    return super(gr.State, state).get_config(Block)


_HeldState = component_class(gr.State, "HeldState", get_config=_without_value)
