"""Notices below fields, and states whose value is not sent to the page."""

import html
from typing import Any

import gradio as gr
from gradio.blocks import Block

from demo.web.gradio_private import component_class


def create_notice() -> gr.HTML:
    """An HTML component for a sentence right below the field it is about; it takes no room while it is empty."""
    return gr.HTML("", visible=False, elem_classes="notice", padding=False)


def noticed(sentence: str) -> dict[str, Any]:
    """The update that shows `sentence`, or hides the notice if it is empty."""
    return gr.update(value=alert(sentence) if sentence else "", visible=bool(sentence))


def alert(sentence: str) -> str:
    """`sentence` as HTML that screen readers read out at once."""
    return f'<p role="alert">{html.escape(sentence)}</p>'


def held(value: object) -> gr.State:
    """A state whose first `value` may be large, such as a recorded answer with its attention.

    Gradio copies an ordinary state's value into the page's configuration six times at start, only to remove it again.
    """
    return _HeldState(value)


def _without_value(state: gr.State) -> dict[str, Any]:
    # The configuration of any block: a state adds only its value, which must not be sent.
    return super(gr.State, state).get_config(Block)


_HeldState = component_class(gr.State, "HeldState", get_config=_without_value)
