"""The five tasks as a plain Gradio app over transformers, with every default as it is: the baseline for visitors."""

from functools import partial

import gradio as gr

from benchmarks.inputs import INPUTS
from benchmarks.plain_transformers import PLAIN, Plain, plain
from models.registry import find

TYPED = ("text", "question", "context", "prompt")
"""What a visitor types; everything else is as in the typical input."""


def page() -> gr.Blocks:
    """One row of boxes and a button for each task; the endpoints have the tasks' names."""
    blocks = gr.Blocks()
    with blocks:
        for task in PLAIN:
            typed = [field for field in INPUTS[task] if field in TYPED]
            boxes = [gr.Textbox(label=field) for field in typed]
            run = partial(answered, plain(find(task)), task, tuple(typed))
            gr.Button(task).click(run, boxes, gr.JSON(), api_name=task)
    return blocks


def answered(plain: Plain, task: str, typed: tuple[str, ...], *texts: str) -> dict[str, object]:
    """What the baseline makes of what was typed."""
    return {"answer": plain(**INPUTS[task] | dict(zip(typed, texts, strict=True)))}


if __name__ == "__main__":
    page().launch(quiet=True)
