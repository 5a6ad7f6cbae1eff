"""Step 2: the vectors that the first layer reads, and the positions in them."""

import html
from collections.abc import Sequence

import gradio as gr
import numpy as np
from gradio.components.plot import PlotData
from numpy.typing import NDArray

from demo.events import QUICK
from demo.plots.template import label
from demo.plots.walk import position_grid, vector_strips
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, fold_out, table
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.figure import drawn
from models.inside.formulas import PAPERS_BASE, sinusoidal
from models.inside.outputs import EmbeddedText

_LENGTH, _DIMENSION = 50, 64
_ROBOT = ("I", "am", "a", "robot")
_MOST_ROWS, _MOST_COLUMNS = 16, 8
_FORMULA = """<h3>Where a token stands: computed or learned</h3>
<p class="quiet">The first Transformer computed a row for each place, from waves of many lengths: fast ones on the left,
slow ones on the right (<em>positional encoding</em>; Vaswani et al., 2017). Two numbers share a wave, its sine and its
cosine:</p>
<div class="formula" role="region" aria-label="The formula" tabindex="0">
<math display="block" alttext="PE of position p, number 2i: sine of p over base to the power 2i over d">
<mrow><mi>PE</mi><mo>(</mo><mi>p</mi><mo>,</mo><mn>2</mn><mi>i</mi><mo>)</mo><mo>=</mo><mi>sin</mi><mo>(</mo>
<mi>p</mi><mo>/</mo><msup><mi>n</mi><mrow><mn>2</mn><mi>i</mi><mo>/</mo><mi>d</mi></mrow></msup><mo>)</mo></mrow></math>
<math display="block" alttext="PE of position p, number 2i plus 1: cosine of p over base to the power 2i over d">
<mrow><mi>PE</mi><mo>(</mo><mi>p</mi><mo>,</mo><mn>2</mn><mi>i</mi><mo>+</mo><mn>1</mn><mo>)</mo><mo>=</mo>
<mi>cos</mi><mo>(</mo><mi>p</mi><mo>/</mo><msup><mi>n</mi><mrow><mn>2</mn><mi>i</mi><mo>/</mo><mi>d</mi></mrow></msup>
<mo>)</mo>
</mrow></math></div>
<p class="quiet">p is the position from 0, i the number of the wave from 0, d the dimension (how many numbers
a row has), n the base.</p>"""


def create_positions() -> None:
    """The formula, three sliders and the picture; it needs no model."""
    gr.HTML(_FORMULA)
    with gr.Row(elem_classes="settings"):
        length = gr.Slider(2, 128, _LENGTH, step=1, label="Length", info="how many positions")
        dimension = gr.Slider(2, 256, _DIMENSION, step=2, label="Dimension d", info="how many numbers a row has")
        base = gr.Slider(2, PAPERS_BASE, PAPERS_BASE, step=1, label="Base n", info="how slow the slowest wave is")
    examples = gr.Examples(
        [[len(_ROBOT), 4, 100], [_LENGTH, _DIMENSION, PAPERS_BASE]],
        [length, dimension, base],
        example_labels=["“I am a robot”, d = 4, n = 100", "the paper’s base, n = 10,000"],
        label="Examples",
        api_visibility="private",
    )
    picture, said = _draw(_LENGTH, _DIMENSION, PAPERS_BASE)
    plot = gr.Plot(picture, label="Positional encoding", show_label=False, container=False, elem_classes="inside-plot")
    numbers = gr.HTML(said, js_on_load=KEEP_OPEN, label="Positional encoding as numbers")
    sliders = [length, dimension, base]
    moved = [each.input for each in sliders]
    gr.on(moved, _draw, sliders, [plot, numbers], trigger_mode="always_last", **QUICK)
    examples.load_input_event.then(_draw, sliders, [plot, numbers], **QUICK)


def own_positions(seen: EmbeddedText) -> tuple[str, str]:
    """A sentence on the model's kind of positions, and the first of them as a table."""
    name = html.escape(seen.checkpoint.name)
    if seen.learned:
        said = (
            f"{name} has learned a row for each place instead, like BERT and GPT-2: nobody told it waves, and places "
            "that are near each other mostly came out alike."
        )
    else:
        said = (
            f"{name} computes its rows by the formula above, with base 10,000; its table has all sines in the left "
            "half and all cosines in the right one."
        )
    heading = f"<h3>The model’s own positions, {len(seen.positions)} of them</h3>"
    return f'{heading}<p class="quiet">{said}</p>', _numbers(seen.positions, "The model’s own positions")


def positions_numbers(length: int, dimension: int, base: float) -> str:
    """The first rows and columns of the encoding as a table, to eight digits."""
    encoding = sinusoidal(length, dimension, base)
    return _numbers(encoding, "Positional encoding", _robot(length), digits=8)


def _draw(length: float, dimension: float, base: float) -> tuple[PlotData, str]:
    length, dimension = int(length), int(dimension)
    figure = position_grid(sinusoidal(length, dimension, base), _robot(length))
    return drawn(figure), positions_numbers(length, dimension, base)


def _robot(length: int) -> Sequence[str]:
    """The words of the lecture's example, where there are as many positions."""
    return _ROBOT if length == len(_ROBOT) else ()


def _numbers(
    rows: NDArray[np.float64] | NDArray[np.float32], name: str, words: Sequence[str] = (), digits: int = 4
) -> str:
    count, width = min(len(rows), _MOST_ROWS), min(rows.shape[1], _MOST_COLUMNS)
    heads = ["position", *map(str, range(width))]
    body = [
        (
            f"{place} {words[place] if words else ''}".strip(),
            *(f"{number:.{digits}f}" for number in rows[place, :width]),
        )
        for place in range(count)
    ]
    part = f": the first {count} positions, {width} numbers of each" if rows.shape != (count, width) else ""
    return fold_out(f"The numbers as a table{part}", table(heads, body), name)


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
    """A sentence on the strips of the token at `position`, and that their sum is the model's own input."""
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


EMBEDDINGS = WalkStep(2, "vectors", "Tokens become vectors", _TEXT, _create, uses=frozenset({"position"}))
