"""Step 8 of the walk: parameters by part, the sizes that papers state, and a layer's cost as the text grows."""

import html
from collections.abc import Sequence
from typing import Any

import gradio as gr

from demo.language import N_, _, number
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

_TEXT = N_(
    "A model’s <em>parameters</em> are the numbers it has learned. They can be counted from its sizes alone: the "
    "vocabulary, the width d of a vector, the number of layers. What a layer costs, in multiplications, depends on how "
    "long the text is as well."
)


def _create(inside: Inside) -> BuiltStep:
    parts = place(_("Parameters by part"), "inside-picture", "room-1")
    gr.HTML(_published(), elem_classes=["inside-picture", "room-2"], label=_("Sizes in papers"))
    outputs = [
        parts,
        place(_("What a layer costs")),
        plot(_("Operations of a layer")),
        place(_("What a layer costs, as a table")),
    ]

    def draw(request: InsideRequest) -> Sequence[Any]:
        count = inside.parameters(request)
        sizes = len(inside.checked(request)[1].tokens.pieces), count.width
        return _parameters_picture(count), _costs_said(*sizes), drawn(costs_figure(*sizes)), _costs_table(*sizes)

    return BuiltStep(outputs, draw)


def _parameters_picture(count: ParameterCount) -> str:
    """HTML with a bar for each part's share of all parameters, and a fold-out table of how each part was counted."""
    shares = [
        Prediction(_("{part}: {count:,}", part=_(each.name), count=each.recomputed), each.recomputed / count.total)
        for each in sorted(count.parts, key=lambda each: -each.recomputed)
    ]
    rows = [
        (html.escape(_(each.name)), html.escape(each.formula), number(each.recomputed), number(each.held))
        for each in count.parts
    ]
    rows.append((_("together"), "", number(sum(each.recomputed for each in count.parts)), number(count.total)))
    heads = (_("part"), _("counted from the sizes"), _("that is"), _("numbers in the model’s memory"))
    tied = _(
        "The table that turns ids into vectors is used again to turn the last vector into a word, where the model "
        "does that (<em>tied weights</em>); it is counted once."
    )
    if any("computed" in each.name for each in count.parts):
        tied += " " + _("Its positions are computed, not learned, but are kept as numbers all the same.")
    name = _("Parameters by part")
    return (
        read_out(_("{model} holds {count:,} numbers.", model=html.escape(count.checkpoint.name), count=count.total))
        + quiet(tied)
        + bars(shares, name, long=True)
        + fold_out(_("How each part was counted, as a table"), table(heads, rows), name)
    )


def _published() -> str:
    heads = (
        _("model"), _("layers"), _("width d"), _("counted from its sizes"), _("the paper says"), _("what is counted")
    )  # fmt: skip
    rows = [
        (
            _(name),
            str(layers),
            number(width),
            number(parameters),
            _("{millions:,} million", millions=stated_millions),
            _(counted),
        )
        for name, layers, width, parameters, stated_millions, counted in published_sizes()
    ]
    said = _(
        "Counted the same way, from the sizes in the papers (BERT: Devlin et al., 2019; GPT-2: Radford et al., 2019)."
    )
    papers = framed(table(heads, rows), _("Sizes that papers state"), "papers")
    return f"<h3>{_('The sizes that papers state')}</h3>{quiet(said)}{papers}"


def _costs_said(length: int, width: int) -> str:
    """HTML sentences on whether self-attention or recurrence costs less for this text, and where that turns (n = d)."""
    own, recurrent = (each.operations for each in layer_costs(length, width)[:2])
    sizes = {"length": length, "width": width, "times": max(own, recurrent) / min(own, recurrent)}
    if own == recurrent:
        said = _(
            "Your text has n = {length} tokens, the model d = {width}: self-attention needs as many multiplications "
            "as recurrence.",
            **sizes,
        )
    elif own > recurrent:
        said = _(
            "Your text has n = {length} tokens, the model d = {width}: self-attention needs {times:.0f} times more "
            "multiplications than recurrence.",
            **sizes,
        )
    else:
        said = _(
            "Your text has n = {length} tokens, the model d = {width}: self-attention needs {times:.0f} times fewer "
            "multiplications than recurrence.",
            **sizes,
        )
    explained = _(
        "<em>Self-attention</em> compares every token with every other; <em>recurrence</em> (as in an LSTM) walks from "
        "token to token; <em>convolution</em> mixes k neighbours. Beyond n = d, self-attention is the dearer one, but "
        "it never waits, and any two tokens are one step apart (Vaswani et al., 2017, table 1)."
    )
    return f'<h3>{_("What a layer costs")}</h3><p class="read-out">{said}</p>{quiet(explained)}'


def _costs_table(length: int, width: int) -> str:
    heads = (
        _("layer"),
        _("operations"),
        _("that is"),
        _("must wait for one another"),
        _("longest path between two tokens"),
    )
    rows = [(_(name), formula, *map(number, costs)) for name, formula, *costs in layer_costs(length, width)]
    summary = _("What a layer costs for n = {length} and d = {width}, as a table", length=length, width=width)
    name = _("What a layer costs for n = {length} and d = {width}", length=length, width=width)
    return fold_out(summary, table(heads, rows), name)


COUNTING = WalkStep(8, "counting", N_("Counting"), _TEXT, _create, Inside.parameters)
