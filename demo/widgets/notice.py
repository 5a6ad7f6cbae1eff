"""Sentences beside fields, and values that the server alone holds."""

import html
from typing import Any

import gradio as gr
from gradio.blocks import Block

from demo.web.gradio_private import component_class


def create_notice() -> gr.HTML:
    """A place for a sentence, right below the field it is about; it takes no room while there is none."""
    return gr.HTML("", visible=False, elem_classes="notice", padding=False)


def noticed(sentence: str) -> dict[str, Any]:
    """The update that shows `sentence`, or clears the place when there is none."""
    return gr.update(value=alert(sentence) if sentence else "", visible=bool(sentence))


def alert(sentence: str) -> str:
    """`sentence` as HTML that screen readers read out at once."""
    return f'<p role="alert">{html.escape(sentence)}</p>'


def held(value: object) -> gr.State:
    """A state that begins as `value`, which may be large: a recorded answer with its attention, say.

    Gradio copies the value of every state into the page's settings, six times at start, only to take it out again.
    """
    return _HeldState(value)


def _without_value(state: gr.State) -> dict[str, Any]:
    # What any block has; a state has only its value besides, and that stays here.
    return super(gr.State, state).get_config(Block)


_HeldState = component_class(gr.State, "HeldState", get_config=_without_value)
