"""Numbers that a visitor types, worked out on the spot; no model is asked."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from demo.components import Updates
from demo.components.notice import create_notice, noticed
from demo.messages import for_visitors
from models.errors import InputError

WorkOut = Callable[[str, float], str]
"""From the scores as they were typed and the number beside them to a table; raises `InputError`."""


def create_own_numbers(
    scores: gr.Textbox, beside: gr.Slider, work_out: WorkOut, label: str, examples: dict[str, list[Any]] | None = None
) -> gr.HTML:
    """The place of the table, drawn anew when its fields are done with or one of `examples` is chosen.

    A sentence says what is wrong with the scores, and what was worked out last stays.
    """
    notice = create_notice()
    tried = None
    if examples:
        tried = gr.Examples(
            list(examples.values()),
            [scores, beside],
            example_labels=list(examples),
            label="Examples",
            api_visibility="private",
        ).load_input_event
    shown = gr.HTML(work_out(scores.value, beside.value), elem_classes="worked", label=label)

    def draw(typed: str, number: float) -> Updates:
        try:
            return {shown: work_out(typed, number), notice: noticed("")}
        except InputError as error:
            return {notice: noticed(error.sentence)}

    quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    drawing = (for_visitors(draw), [scores, beside], [shown, notice])
    gr.on([scores.submit, scores.blur, beside.input], *drawing, trigger_mode="always_last", **quick)
    if tried is not None:
        tried.then(*drawing, **quick)
    return shown
