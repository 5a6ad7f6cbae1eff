"""The steps in their order, and each of them as a page to save."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
import orjson
from gradio.components import Component

from demo.settings import MODEL_QUEUE
from demo.walk.block import BLOCK
from demo.walk.counting import COUNTING
from demo.walk.embeddings import EMBEDDINGS
from demo.walk.guess import LENS
from demo.walk.head import HEAD
from demo.walk.masking import MASKING
from demo.walk.step import BuiltStep, WalkStep
from demo.walk.tokens import TOKENS
from demo.walk.translation import TRANSLATION
from demo.walk.view import Inside, InsideRequest, look, look_at_guess, look_at_source
from demo.widgets import Updates
from demo.widgets.saved import (
    TextFile,
    create_saved_file,
    following_the_system,
    json_file,
    of_updates,
    offline_page,
    plotting,
)

STEPS: tuple[WalkStep, ...] = (TOKENS, EMBEDDINGS, HEAD, MASKING, BLOCK, LENS, TRANSLATION, COUNTING)


_HELP = (
    '<p class="quiet">The step as it is above. The page is one file that works without a network; the numbers are all '
    "that the step was drawn from, vectors and tables in full.</p>"
)
_NUMBERS: Mapping[str, Callable[[Inside, InsideRequest], Any]] = {
    "tokens": lambda inside, request: inside.tokens(request),
    "vectors": lambda inside, request: inside.embeddings(request),
    "head": look_at_source,
    "masking": look,
    "block": look_at_source,
    "guess": look_at_guess,
    "translation": lambda inside, request: inside.translation(request),
    "counting": lambda inside, request: inside.parameters(request),
}
"""For each step the typed result that it is drawn from."""


def create_inside_take_away(
    request_of: Callable[..., tuple[WalkStep, InsideRequest]],
    draw: Callable[..., Updates],
    built: Mapping[str, BuiltStep],
    inside: Inside,
    inputs: Sequence[Component],
) -> None:
    """A folded section with a button for each file.

    `request_of` says which step the values of `inputs` ask for, and `draw` draws it; both raise `InputError`.
    """
    with gr.Accordion("Take it away: page, numbers", open=False, elem_classes="tool"):
        gr.HTML(_HELP, label="About these files")
        with gr.Row(elem_classes="history-actions"):
            page = gr.Button("Page (HTML)", min_width=170, scale=0)
            numbers = gr.Button("Numbers (JSON)", min_width=170, scale=0)
        file = create_saved_file()

    def to_page(*values: Any) -> TextFile:
        step, request = request_of(*values)
        body, figures = step_part(step, request, built[step.key], draw(*values))
        text = offline_page(
            f"Inside: {step.title}", f"<main>{body}</main>", [following_the_system(), *plotting(figures)]
        )
        return TextFile(text, f"{_stem(step)}.html", "text/html;charset=utf-8")

    def to_json(*values: Any) -> TextFile:
        step, request = request_of(*values)
        return json_file(as_json(step, request, _NUMBERS[step.key](inside, request)), _stem(step))

    queued: dict[str, Any] = {"queue": True, "concurrency_id": MODEL_QUEUE}
    file.connect(page, to_page, inputs, **queued)
    file.connect(numbers, to_json, inputs, **queued)


def step_part(step: WalkStep, request: InsideRequest, built: BuiltStep, updates: Updates) -> tuple[str, list[str]]:
    """A step's heading, the text that was asked about and the pictures, as HTML, and the figures in it."""
    pictures, figures = of_updates(built.outputs, updates)
    said = f'<p class="given"><bdi>{html.escape(request.text)}</bdi></p>'
    return f'<section class="prose inside-step"><h1>{html.escape(step.title)}</h1>{said}{pictures}</section>', figures


def as_json(step: WalkStep, request: InsideRequest, numbers: Any) -> str:
    """The request (layer, head and token count from 1) and the typed result that the step is drawn from, as JSON."""
    asked = {
        "step": step.key,
        "text": request.text,
        "checkpoint": request.checkpoint,
        "layer": request.layer + 1 if "layer" in step.uses else None,
        "head": request.head + 1 if "head" in step.uses else None,
        "position": request.position + 1 if "position" in step.uses else None,
    }
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(asked | {"numbers": numbers}, default=_plain, option=options).decode()


def _plain(array: Any) -> Any:
    """An array whose numbers do not lie in a row in memory, as lists: orjson writes only those that do."""
    return array.tolist()


def _stem(step: WalkStep) -> str:
    return f"clearhead-inside-{step.key}"
