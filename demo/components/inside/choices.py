"""Layer, head and word: what can be chosen within a text."""

import gradio as gr

from demo.components.inside.step import Step
from demo.components.inside.word_list import WordList, value_of, words_of
from demo.inside_request import InsideRequest
from demo.recorded_inside import recorded_tokens
from models.inside.parameters import shape_of
from models.registry import REGISTRY


def create_choices(request: InsideRequest, step: Step) -> tuple[gr.Slider, gr.Slider, gr.Dropdown]:
    """Layer, head and word as recorded, each seen in the steps that heed it."""
    tokens, shape = recorded_tokens()[0], shape_of(REGISTRY[request.checkpoint])
    with gr.Row(elem_classes="settings"):
        layer = gr.Slider(
            1, shape.layers, request.layer + 1, step=1, label="Layer", info="one round of mixing",
            visible="layer" in step.uses,
        )  # fmt: skip
        head = gr.Slider(
            1, shape.heads, request.head + 1, step=1, label="Head", info="one of several mixers in a layer",
            visible="head" in step.uses,
        )  # fmt: skip
        position = WordList(
            words_of(request, tokens.pieces), value=value_of(request), label="Word", info="a token of your text",
            filterable=False, visible="position" in step.uses,
        )  # fmt: skip
    return layer, head, position
