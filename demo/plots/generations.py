"""Figures of models before Transformers: gradients by word, accuracy by training size, and states as strips."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from demo.language import N_, _, number
from demo.plots.sheet import signed_image
from demo.plots.template import AMBER, GRID, INK, LEGEND, MUTED, harmless, template
from models.outputs.before import GenerationsReading

_LINES = (
    {"color": AMBER, "width": 3, "dash": "dash"},
    {"color": MUTED, "width": 3, "dash": "dot"},
    {"color": INK, "width": 3},
)
_MARKS = ("diamond", "square", "circle")
_LOWEST, _LOW = 1e-8, 1e-5
_PANELS = (N_("After training: gradient, share of the greatest"), N_("Before training, with random weights"))
MOST_WORDS = 40
"""The most words that are shown: strips show the first ones, the figure of gradients the last."""


def strip_image(rows: NDArray[np.float32]) -> str:
    """The first `MOST_WORDS` of `rows` as a PNG's data URI: a pixel per number, orange below zero, blue above."""
    shown = rows[:MOST_WORDS]
    top = float(np.abs(shown).max()) or 1.0
    # Sixteen levels of each colour, which a PNG compresses well.
    return signed_image(np.rint(15 * shown / top) / 15, optimize=True)


def reach_figure(reading: GenerationsReading, names: Mapping[str, str]) -> go.Figure:
    """The length of the answer's gradient at each word's vector, as a share of the greatest in that model.

    The lower panel shows the recurrent models before training, on the same axis.
    """
    first = max(0, len(reading.words) - MOST_WORDS)
    words = [harmless(word) for word in reading.words[first:]]
    places = list(range(len(words)))
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.08, subplot_titles=[*map(_, _PANELS)])
    lowest = 1.0
    for row, (reaches, trained) in enumerate(((reading.reaches, True), (reading.untrained, False)), start=1):
        for reach, line, mark in zip(reaches, _LINES, _MARKS, strict=False):
            top = max(reach.lengths) or 1.0
            told = (
                _("{model}, “%{{text}}”: %{{y:.2~g}} of its greatest", model=names[reach.key])
                if trained
                else _("{model}, untrained, “%{{text}}”: %{{y:.2~g}} of its greatest", model=names[reach.key])
            )
            shares = [max(length / top, _LOWEST) for length in reach.lengths[first:]]
            lowest = min(lowest, *shares)
            figure.add_scatter(
                row=row,
                col=1,
                x=places,
                y=shares,
                mode="lines+markers",
                line=line,
                marker={"symbol": mark, "size": 8},
                name=names[reach.key],
                showlegend=trained,
                text=words,
                hovertemplate=f"{told}<extra></extra>",
            )
    figure.update_annotations(x=0, xanchor="left", font_size=13)
    figure.update_yaxes(
        type="log", range=[np.log10(lowest) - 0.3, 0.2], exponentformat="power", dtick=1 if lowest > _LOW else 2
    )
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=words, tickangle=-60)
    legend = LEGEND | {"y": 1.06}
    return figure.update_layout(template=template(), height=520, showlegend=True, legend=legend)


def curve_figure(curve: Mapping[str, Mapping[str, Sequence[float]]], names: Mapping[str, str]) -> go.Figure:
    """Accuracy (%) on development sentences by number of phrases learned: mean and spread over a few draws."""
    figure = go.Figure(layout={"template": template()})
    for (key, by_size), line, mark in zip(curve.items(), _LINES, _MARKS, strict=True):
        sizes = [int(size) for size in by_size]
        told = _("{model}, %{{x:,}} phrases: %{{y:.1f}}\u202f% right", model=names[key])
        figure.add_scatter(
            x=sizes,
            y=[float(np.mean(each)) for each in by_size.values()],
            error_y={"type": "data", "array": [float(np.std(each)) for each in by_size.values()], "thickness": 1},
            mode="lines+markers",
            line=line,
            marker={"symbol": mark, "size": 8},
            name=names[key],
            hovertemplate=f"{told}<extra></extra>",
        )
    return figure.update_layout(
        height=300,
        showlegend=True,
        legend=LEGEND,
        xaxis={"type": "log", "tickvals": sizes, "ticktext": [number(size) for size in sizes],
               "title": {"text": _("phrases that were learned")}},
        yaxis={"title": {"text": _("right, %")}, **GRID},
    )  # fmt: skip
