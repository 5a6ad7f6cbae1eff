"""The reason to pre-train in one picture: accuracy against the number of examples, for three ways to read a text."""

from itertools import pairwise

import plotly.graph_objects as go

from demo.language import N_, _, ngettext
from demo.plots.reading import percent
from demo.plots.template import AMBER, GRID, INK, MUTED, template
from models.outputs.vectors import LearningCurve, TeachOutput

NAMES = {"bert": N_("BERT’s vectors"), "bag of words": N_("bag of words"), "random weights": N_("random weights")}
"""The representations as visitors read them, in the order in which they are drawn."""

_LINES: dict[str, dict[str, object]] = {
    "bert": {"color": INK, "width": 3},
    "bag of words": {"color": AMBER, "width": 2, "dash": "dash"},
    "random weights": {"color": MUTED, "width": 2, "dash": "dot"},
}
_SHADES = {
    "bert": "rgba(31,75,184,0.16)",
    "bag of words": "rgba(180,83,9,0.14)",
    "random weights": "rgba(111,118,130,0.16)",
}
_LEAST_APART = 0.075
"""The least distance between the names beside the lines, as a share of one (accuracy)."""
_TYPICAL = 4
"""The number of examples of each class that `finding` names, if it was measured, else the next smaller one."""


def learning_curve(output: TeachOutput) -> go.Figure:
    """The accuracy by number of examples: a line per representation, named at its right end, the spread shaded."""
    sizes = output.curve[0].examples_per_class
    places = list(range(len(sizes)))
    traces = []
    for curve in reversed(output.curve):
        pairs = list(zip(curve.accuracy, curve.spread, strict=True))
        upper = [min(1.0, mean + spread) for mean, spread in pairs]
        lower = [max(0.0, mean - spread) for mean, spread in pairs]
        traces += [
            go.Scatter(
                x=places + places[::-1], y=upper + lower[::-1], fill="toself", fillcolor=_SHADES[curve.representation],
                mode="none", hoverinfo="skip",
            ),
            go.Scatter(
                x=places, y=list(curve.accuracy), mode="lines+markers", line=_LINES[curve.representation],
                marker={"size": 7}, name=_(NAMES[curve.representation]),
                customdata=list(sizes),
                hovertemplate=_("%{customdata} a class: %{y:.0%} right") + "<extra>%{fullData.name}</extra>",
            ),
        ]  # fmt: skip
    names = [
        {
            "x": places[-1], "y": height, "xanchor": "left", "xshift": 10, "showarrow": False,
            "text": _(NAMES[curve.representation]),
            "font": {"color": _LINES[curve.representation]["color"], "size": 13},
        }
        for curve, height in zip(output.curve, _heights(output.curve), strict=True)
    ]  # fmt: skip
    chance = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": output.chance, "y1": output.chance,
        "line": {"color": MUTED, "width": 1},
    }  # fmt: skip
    low = min(output.chance, *(min(curve.accuracy) for curve in output.curve))
    layout = {
        "template": template(),
        "height": 300,
        "margin": {"l": 8, "r": 116, "t": 12, "b": 8},
        "annotations": [
            *names,
            {"xref": "paper", "x": 0, "y": output.chance, "xanchor": "left", "yanchor": "top", "showarrow": False,
             "text": _("guessing"), "font": {"size": 12}},
        ],
        "shapes": [chance],
        "xaxis": {"tickvals": places, "ticktext": [str(size) for size in sizes],
                  "range": [-0.25, len(sizes) - 0.75], "title": {"text": _("examples of each class")}},
        "yaxis": {"range": [max(0.0, low - 0.12), 1.04], "tickformat": ".0%", "dtick": 0.25, **GRID,
                  "title": {"text": _("correct")}},
    }  # fmt: skip
    return go.Figure(data=traces, layout=layout)


def finding(output: TeachOutput) -> str:
    """A sentence that compares the representations at about `_TYPICAL` examples of each class."""
    bert, words, random = output.curve
    place = max(place for place, size in enumerate(bert.examples_per_class) if size <= _TYPICAL)
    size = bert.examples_per_class[place]
    return ngettext(
        "With {count} example a class, BERT’s vectors are right {bert} of the time, bag of words {words}, "
        "random weights {random}",
        "With {count} examples a class, BERT’s vectors are right {bert} of the time, bag of words {words}, "
        "random weights {random}",
        size,
        bert=percent(bert.accuracy[place]),
        words=percent(words.accuracy[place]),
        random=percent(random.accuracy[place]),
    )


def _heights(curves: tuple[LearningCurve, ...]) -> list[float]:
    """The heights of the names at the lines' right ends, moved apart so that none overlap."""
    ends = [curve.accuracy[-1] for curve in curves]
    heights = list(ends)
    order = sorted(range(len(ends)), key=lambda place: -ends[place])
    for above, below in pairwise(order):
        heights[below] = min(heights[below], heights[above] - _LEAST_APART)
    return heights
