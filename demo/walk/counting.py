"""Step 8: where the parameters are, what papers count, and what a layer costs as the text grows."""

import html

import gradio as gr

from demo.plots.walk import costs_figure
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, fold_out, table
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.bars import bars
from demo.widgets.figure import drawn
from models.inside.formulas import layer_costs
from models.inside.outputs import ParameterCount
from models.inside.parameters import published_sizes
from models.outputs import Prediction

_TEXT = (
    "A model’s <em>parameters</em> are the numbers it has learned. They can be counted from its sizes alone: the "
    "vocabulary, the width d of a vector, the number of layers. What a layer costs, in multiplications, depends on how "
    "long the text is as well."
)


def _create(controls: InsideControls) -> BuiltStep:
    parts = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes=["inside-picture", "room-1"], label="Parameters by part")
    gr.HTML(_published(), elem_classes=["inside-picture", "room-2"], label="Sizes in papers")
    said = gr.HTML("", label="What a layer costs")
    plot = gr.Plot(label="Operations of a layer", show_label=False, container=False, elem_classes="inside-plot")
    numbers = gr.HTML("", label="What a layer costs, as a table")

    def draw(request: InsideRequest) -> Updates:
        count = controls.inside.parameters(request)
        length = len(controls.inside.checked(request)[1].tokens.pieces)
        return {
            parts: parameters_picture(count),
            said: costs_said(length, count.width),
            plot: drawn(costs_figure(length, count.width)),
            numbers: costs_table(length, count.width),
        }

    return BuiltStep(draw, [parts, said, plot, numbers])


def parameters_picture(count: ParameterCount) -> str:
    """Each part as a bar of its share, and how each was counted."""
    shares = [
        Prediction(f"{each.name}: {each.recomputed:,}", each.recomputed / count.total)
        for each in sorted(count.parts, key=lambda each: -each.recomputed)
    ]
    rows = [
        (html.escape(each.name), html.escape(each.formula), f"{each.recomputed:,}", f"{each.held:,}")
        for each in count.parts
    ]
    added = sum(each.recomputed for each in count.parts)
    rows.append(("together", "", f"{added:,}", f"{count.total:,}"))
    heads = ("part", "counted from the sizes", "that is", "numbers in the model’s memory")
    frozen = (
        " Its positions are computed, not learned, but are kept as numbers all the same."
        if any("computed" in each.name for each in count.parts)
        else ""
    )
    return (
        f'<p class="read-out" aria-live="polite">{html.escape(count.checkpoint.name)} holds {count.total:,} '
        "numbers.</p>"
        '<p class="quiet">The table that turns ids into vectors is used again to turn the last vector into a word, '
        f"where the model does that (<em>tied weights</em>); it is counted once.{frozen}</p>"
        f"{bars(shares, 'Parameters by part', long=True)}"
        f"{fold_out('How each part was counted, as a table', table(heads, rows), 'Parameters by part')}"
    )


def costs_said(length: int, width: int) -> str:
    """A sentence on the kind of layer that costs less for this text, and where that turns."""
    own, recurrent, _ = layer_costs(length, width)
    times = max(own.operations, recurrent.operations) / min(own.operations, recurrent.operations)
    many = "times more" if own.operations > recurrent.operations else "times fewer"
    compared = "as many" if own.operations == recurrent.operations else f"{times:.0f} {many}"
    return (
        "<h3>What a layer costs</h3>"
        f'<p class="read-out">Your text has n = {length} tokens, the model d = {width}: self-attention needs '
        f"{compared} multiplications {'as' if compared == 'as many' else 'than'} recurrence.</p>"
        '<p class="quiet"><em>Self-attention</em> compares every token with every other; <em>recurrence</em> (as in an '
        "LSTM) walks from token to token; <em>convolution</em> mixes k neighbours. Beyond n = d, self-attention is the "
        "dearer one, but it never waits, and any two tokens are one step apart (Vaswani et al., 2017, table 1).</p>"
    )


def costs_table(length: int, width: int) -> str:
    """Operations, waiting and longest path for this n and d."""
    heads = ("layer", "operations", "that is", "must wait for one another", "longest path between two tokens")
    rows = [
        (each.name, each.formula, f"{each.operations:,}", f"{each.sequential:,}", f"{each.path:,}")
        for each in layer_costs(length, width)
    ]
    name = f"What a layer costs for n = {length} and d = {width}"
    return fold_out(f"{name}, as a table", table(heads, rows), name)


def _published() -> str:
    heads = ("model", "layers", "width d", "counted from its sizes", "the paper says", "what is counted")
    rows = [
        (
            each.name,
            str(each.layers),
            f"{each.width:,}",
            f"{each.parameters:,}",
            f"{each.stated_millions:,} million",
            each.counted,
        )
        for each in published_sizes()
    ]
    return (
        '<h3>The sizes that papers state</h3><p class="quiet">Counted the same way, from the sizes in the papers '
        "(BERT: Devlin et al., 2019; GPT-2: Radford et al., 2019).</p>"
        '<div class="table-frame papers" role="region" aria-label="Sizes that papers state" tabindex="0">'
        f"{table(heads, rows)}</div>"
    )


COUNTING = WalkStep(8, "counting", "Counting", _TEXT, _create)
