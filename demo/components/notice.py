"""The sentence beside a field that says what to mend."""

import html
from typing import Any

import gradio as gr


def create_notice() -> gr.HTML:
    """A place for a sentence, right below the field it is about; it takes no room while there is none."""
    return gr.HTML("", visible=False, elem_classes="notice", padding=False)


def noticed(sentence: str) -> dict[str, Any]:
    """The update that shows `sentence`, or clears the place when there is none."""
    said = f'<p role="alert">{html.escape(sentence)}</p>' if sentence else ""
    return gr.update(value=said, visible=bool(sentence))
