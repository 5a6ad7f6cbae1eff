"""Figures of translating before Transformers: alignments of words, and BLEU by sentence length."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from demo.language import _
from demo.plots.heatmap import attention_heatmap
from demo.plots.template import AMBER, GRID, INK, LEGEND, MUTED, template
from demo.plots.view import AttentionView, in_words
from models.outputs.attention import MEAN
from models.outputs.before import EarlyTranslation, TranslatorsOutput

_LINES = (
    {"color": AMBER, "width": 3, "dash": "dash"},
    {"color": MUTED, "width": 2, "dash": "dot"},
    {"color": MUTED, "width": 2, "dash": "dashdot"},
    {"color": MUTED, "width": 2},
    {"color": INK, "width": 3},
)
_ACROSS, _LABELS = 250, 110
"""Pixels for the cells and for the names beside them, so that two pictures stand side by side."""

_LARGEST_CELL, _SMALLEST_CELL = 28, 13
_MARKS = ("diamond", "square", "triangle-up", "cross", "circle")


def alignment_figure(output: TranslatorsOutput, row: EarlyTranslation) -> go.Figure:
    """A heatmap of the weights that the words of one translation give to those of the source."""
    weights = np.array(row.alignment, np.float32)
    masked = np.zeros(weights.shape, bool)
    one = AttentionView("cross", MEAN, MEAN, weights, masked, row.tokens, output.tokens, ("cross",), 1, 1)
    figure = attention_heatmap(in_words(one))
    written, read = (len(figure.data[0][axis]) for axis in "yx")
    cell = min(_LARGEST_CELL, max(_SMALLEST_CELL, _ACROSS / read))
    figure.data[0].showscale = False
    return figure.update_layout(width=round(cell * read) + _LABELS, height=round(cell * written) + _LABELS)


def length_figure(
    figures: Mapping[str, Mapping[str, Any]], lengths: Sequence[int], names: Mapping[str, str]
) -> go.Figure:
    """BLEU on held-out captions by their length in English words: a line for each translator."""
    between = [f"{low + 1}–{high}" for low, high in pairwise(lengths[:-1])]
    labels = [_("to {words}", words=lengths[0]), *between, _("over {words}", words=lengths[-2])]
    figure = go.Figure(layout={"template": template()})
    for (key, measured), line, mark in zip(figures.items(), _LINES, _MARKS, strict=True):
        figure.add_scatter(
            x=labels,
            y=measured["by_length"],
            mode="lines+markers",
            line=line,
            marker={"symbol": mark, "size": 8},
            name=names[key],
            hovertemplate=_("{model}, %{{x}} words: %{{y:.1f}}", model=names[key]) + "<extra></extra>",
        )
    return figure.update_layout(
        height=320,
        showlegend=True,
        legend=LEGEND,
        xaxis={"type": "category", "title": {"text": _("English words in the sentence")}},
        yaxis={"title": {"text": "BLEU"}, "rangemode": "tozero", **GRID},
    )
