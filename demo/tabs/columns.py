"""The columns of a tab, and what stands in them everywhere: a field for words, and a sentence on what the tab does."""

from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.language import _


def two_columns() -> gr.Row:
    """Holds a tab's `left_column`, then its `result`: side by side on a wide screen, else one below the other."""
    return gr.Row(elem_classes="task", equal_height=False)


def left_column() -> gr.Column:
    """Holds what is asked and how it is read. On a narrow screen the settings stand below the answer."""
    return gr.Column(elem_classes="left")


def asking() -> gr.Column:
    """Holds the fields for the visitor's own words, the button and the examples."""
    return gr.Column(elem_classes="ask")


def result() -> gr.Column:
    """Holds the answer and everything that explains it."""
    return gr.Column(elem_classes="result")


def visitor_text(value: str, label: str = "", **more: Any) -> gr.Textbox:
    """A field for words of the visitor's own, which grows with them; without a `label` it asks for a text."""
    look: dict[str, Any] = {"max_lines": 8, "elem_classes": "visitor-text"}
    return gr.Textbox(value, label=label or _("Your text"), **look | more)


def examples(fields: Sequence[Component], samples: Iterable[str], names: list[str]) -> gr.Dataset:
    """Examples to try by their `names`; choosing one tells its number."""
    return gr.Dataset(
        components=fields,
        samples=[[each] for each in samples],
        sample_labels=names,
        type="index",
        label=_("Examples"),
        elem_classes="examples",
    )


def lead(text: str, name: str | None = None) -> gr.HTML:
    """A sentence or two on what a tab does; `name` is read out for it."""
    return gr.HTML(f'<p class="lead">{text}</p>', label=name)
