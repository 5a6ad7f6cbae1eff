"""Sinusoidal positional encoding: its formula, its picture with sliders, and the chosen model's own positions."""

import html
from collections.abc import Sequence
from typing import Any

import gradio as gr
import numpy as np
from gradio.components.plot import PlotData
from numpy.typing import NDArray

from demo.components.attention_table import KEEP_OPEN
from demo.components.figure import drawn
from demo.components.inside.numbers import fold_out, table
from demo.plots.inside_strips import position_grid
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
    quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    moved = [each.input for each in sliders]
    gr.on(moved, _draw, sliders, [plot, numbers], trigger_mode="always_last", **quick)
    examples.load_input_event.then(_draw, sliders, [plot, numbers], **quick)


def own_positions(seen: EmbeddedText) -> tuple[str, str]:
    """What kind of positions the model has, and the first of them as a table."""
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
