"""The columns of a tab, and their common parts: a text field, examples, and a sentence on what the tab does."""

from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.language import _


def two_columns() -> gr.Row:
    """A row for a tab's `left_column`, then its `result`: side by side on a wide screen, else one below the other."""
    return gr.Row(elem_classes="task", equal_height=False)


def left_column() -> gr.Column:
    """A column for the form and its settings, which on a narrow screen stand below the answer."""
    return gr.Column(elem_classes="left")


def asking() -> gr.Column:
    """A column for the visitor's text fields, the button and the examples."""
    return gr.Column(elem_classes="ask")


def result() -> gr.Column:
    """A column for the answer and everything that explains it."""
    return gr.Column(elem_classes="result")


def visitor_text(value: str, label: str = "", **more: Any) -> gr.Textbox:
    """A field for the visitor's own text, which grows with it; the default `label` is “Your text”."""
    look: dict[str, Any] = {"max_lines": 8, "elem_classes": "visitor-text"}
    return gr.Textbox(value, label=label or _("Your text"), **look | more)


def examples(fields: Sequence[Component], samples: Iterable[str], names: list[str]) -> gr.Dataset:
    """Examples to try, listed by their `names`; a click sends the index of the chosen one."""
    return gr.Dataset(
        components=fields,
        samples=[[each] for each in samples],
        sample_labels=names,
        type="index",
        label=_("Examples"),
        elem_classes="examples",
    )


def lead(text: str, name: str | None = None) -> gr.HTML:
    """A sentence or two on what a tab does; `name` is its label for screen readers."""
    return gr.HTML(f'<p class="lead">{text}</p>', label=name)
