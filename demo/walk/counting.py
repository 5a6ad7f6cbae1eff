"""Step 8: where the parameters are, what papers count, and what a layer costs as the text grows."""

import html
from collections.abc import Sequence
from typing import Any

import gradio as gr

from demo.plots.walk import costs_figure
from demo.walk.step import BuiltStep, WalkStep, place, plot, quiet, read_out
from demo.walk.view import Inside, InsideRequest
from demo.widgets.bars import bars
from demo.widgets.figure import drawn
from demo.widgets.tables import fold_out, framed, table
from models.inside.formulas import layer_costs
from models.inside.outputs import ParameterCount
from models.inside.parameters import published_sizes
from models.outputs.base import Prediction

_TEXT = (
    "A model’s <em>parameters</em> are the numbers it has learned. They can be counted from its sizes alone: the "
    "vocabulary, the width d of a vector, the number of layers. What a layer costs, in multiplications, depends on how "
    "long the text is as well."
)


def _create(inside: Inside) -> BuiltStep:
    parts = place("Parameters by part", "inside-picture", "room-1")
    gr.HTML(_published(), elem_classes=["inside-picture", "room-2"], label="Sizes in papers")
    outputs = [
        parts,
        place("What a layer costs"),
        plot("Operations of a layer"),
        place("What a layer costs, as a table"),
    ]

    def draw(request: InsideRequest) -> Sequence[Any]:
        count = inside.parameters(request)
        sizes = len(inside.checked(request)[1].tokens.pieces), count.width
        return _parameters_picture(count), _costs_said(*sizes), drawn(costs_figure(*sizes)), _costs_table(*sizes)

    return BuiltStep(outputs, draw)


def _parameters_picture(count: ParameterCount) -> str:
    """Each part as a bar of its share, and how each was counted."""
    shares = [
        Prediction(f"{each.name}: {each.recomputed:,}", each.recomputed / count.total)
        for each in sorted(count.parts, key=lambda each: -each.recomputed)
    ]
    rows = [
        (html.escape(each.name), html.escape(each.formula), f"{each.recomputed:,}", f"{each.held:,}")
        for each in count.parts
    ]
    rows.append(("together", "", f"{sum(each.recomputed for each in count.parts):,}", f"{count.total:,}"))
    heads = ("part", "counted from the sizes", "that is", "numbers in the model’s memory")
    computed = any("computed" in each.name for each in count.parts)
    frozen = " Its positions are computed, not learned, but are kept as numbers all the same." if computed else ""
    return (
        read_out(f"{html.escape(count.checkpoint.name)} holds {count.total:,} numbers.")
        + quiet(
            "The table that turns ids into vectors is used again to turn the last vector into a word, where the model "
            f"does that (<em>tied weights</em>); it is counted once.{frozen}"
        )
        + bars(shares, "Parameters by part", long=True)
        + fold_out("How each part was counted, as a table", table(heads, rows), "Parameters by part")
    )


def _published() -> str:
    heads = ("model", "layers", "width d", "counted from its sizes", "the paper says", "what is counted")
    rows = [
        (name, str(layers), f"{width:,}", f"{parameters:,}", f"{stated_millions:,} million", counted)
        for name, layers, width, parameters, stated_millions, counted in published_sizes()
    ]
    said = (
        "Counted the same way, from the sizes in the papers (BERT: Devlin et al., 2019; GPT-2: Radford et al., 2019)."
    )
    papers = framed(table(heads, rows), "Sizes that papers state", "papers")
    return f"<h3>The sizes that papers state</h3>{quiet(said)}{papers}"


def _costs_said(length: int, width: int) -> str:
    """A sentence on the kind of layer that costs less for this text, and where that turns."""
    own, recurrent = (each.operations for each in layer_costs(length, width)[:2])
    compared = "as many multiplications as"
    if own != recurrent:
        more = "more" if own > recurrent else "fewer"
        compared = f"{max(own, recurrent) / min(own, recurrent):.0f} times {more} multiplications than"
    return (
        f'<h3>What a layer costs</h3><p class="read-out">Your text has n = {length} tokens, the model d = {width}: '
        f"self-attention needs {compared} recurrence.</p>"
    ) + quiet(
        "<em>Self-attention</em> compares every token with every other; <em>recurrence</em> (as in an LSTM) walks from "
        "token to token; <em>convolution</em> mixes k neighbours. Beyond n = d, self-attention is the dearer one, but "
        "it never waits, and any two tokens are one step apart (Vaswani et al., 2017, table 1)."
    )


def _costs_table(length: int, width: int) -> str:
    heads = ("layer", "operations", "that is", "must wait for one another", "longest path between two tokens")
    rows = [(name, formula, *(f"{each:,}" for each in costs)) for name, formula, *costs in layer_costs(length, width)]
    name = f"What a layer costs for n = {length} and d = {width}"
    return fold_out(f"{name}, as a table", table(heads, rows), name)


COUNTING = WalkStep(8, "counting", "Counting", _TEXT, _create, Inside.parameters)
