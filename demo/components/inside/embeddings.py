"""Step 2: what is added up for each token, and how a place in the text becomes a vector."""

import html

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from demo.components import Updates
from demo.components.figure import drawn
from demo.components.inside.numbers import fold_out, table
from demo.components.inside.positions import create_positions, own_positions
from demo.components.inside.step import BuiltStep, InsideControls, Step
from demo.inside_request import InsideRequest
from demo.plots.inside_strips import position_grid, vector_strips
from demo.plots.template import label
from models.inside.outputs import EmbeddedText

_TEXT = (
    "Each id picks a row of numbers from a table that was learned, the token’s <em>embedding</em>. A row for its place "
    "in the text is added (and in BERT one for its segment), number by number: from here on a token is a "
    "<em>vector</em>, a row of numbers of fixed length."
)
_NAMES = {"token": "token", "segment": "+ segment", "position": "+ position"}
_NORMED = "normed"
_SHOWN_NUMBERS = 8


def _create(controls: InsideControls) -> BuiltStep:
    finding = gr.HTML("", elem_classes=["inside-finding", "room-1"])
    strips = gr.Plot(label="What is added", show_label=False, container=False, elem_classes=["inside-plot", "room-1"])
    numbers = gr.HTML("", elem_classes="inside-numbers", label="The numbers")
    create_positions()
    own_text = gr.HTML("", label="The model's positions")
    own = gr.Plot(label="The model's positions", show_label=False, container=False, elem_classes="inside-plot")
    own_numbers = gr.HTML("", label="The model's positions as numbers")

    def draw(request: InsideRequest) -> Updates:
        seen = controls.inside.embeddings(request)
        said, numbered = own_positions(seen)
        return {
            finding: embeddings_said(seen, request.position),
            strips: drawn(vector_strips(_strips(seen, request.position), own_scale=_NORMED)),
            numbers: embeddings_table(seen, request.position),
            own_text: said,
            own: drawn(position_grid(seen.positions)),
            own_numbers: numbered,
        }

    return BuiltStep(draw, [finding, strips, numbers, own_text, own, own_numbers])


def embeddings_said(seen: EmbeddedText, position: int) -> str:
    """What the strips show for the token at `position`, and that the sum is the model's own input."""
    width = seen.summed.shape[1]
    names = " + ".join(seen.parts)
    normed = (
        " BERT then <em>norms</em> each vector: shifts and stretches its numbers to mean 0 and spread 1, then scales "
        "and shifts each by what it has learned (layer norm); that strip has a scale of its own."
        if seen.normed is not None
        else ""
    )
    return (
        f'<p class="read-out" aria-live="polite">“<bdi>{html.escape(label(seen.tokens[position]))}</bdi>” becomes '
        f"{width} numbers: {names}.</p>"
        f'<p class="quiet">Orange is below zero, blue above.{normed} Checked for every token: what is added here and '
        f"what the model’s first layer reads {_same(seen.difference)}.</p>"
    )


def embeddings_table(seen: EmbeddedText, position: int) -> str:
    """The first numbers of each strip, and the length of its whole vector."""
    heads = ["", "length", *(str(place) for place in range(_SHOWN_NUMBERS))]
    rows = [
        (name, f"{np.linalg.norm(vector):.3f}", *(f"{number:.4f}" for number in vector[:_SHOWN_NUMBERS]))
        for name, vector in _strips(seen, position).items()
    ]
    shown = f"The length of each vector and its first {_SHOWN_NUMBERS} numbers"
    return fold_out(f"{shown}, as a table", table(heads, rows), shown)


def _strips(seen: EmbeddedText, position: int) -> dict[str, NDArray[np.float32]]:
    strips = {_NAMES[name]: vectors[position] for name, vectors in seen.parts.items()}
    strips["= sum"] = seen.summed[position]
    if seen.normed is not None:
        strips[_NORMED] = seen.normed[position]
    return strips


def _same(difference: float) -> str:
    return f"differ by {difference:.1g} at most" if difference else "are the same to the last digit"


EMBEDDINGS = Step(2, "vectors", "Tokens become vectors", _TEXT, _create, uses=frozenset({"position"}))
