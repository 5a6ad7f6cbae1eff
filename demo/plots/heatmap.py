"""Attention as a heatmap, queries down and keys across: a plotly figure, and an SVG for pages without scripts."""

import html
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from demo.language import _
from demo.plots.reading import percent, read_out, scale_top
from demo.plots.sheet import ink_image
from demo.plots.template import INK_SCALE, categories, label, template
from demo.plots.view import NOT_SHOWN, AttentionView
from models.outputs.base import Token

DRAWN_WHOLE = 128
"""Up to this many tokens every one is named on its axis; beyond, plotly names as many as fit."""

_LARGEST_CELL = 30
_SMALLEST_CELL = 13
_COMFORTABLE_WIDTH = 500
_THINNED_WIDTH = 800
_LABEL_ROOM = 100
_COLORBAR_ROOM = 70
_HATCH_LINES = 60
_GREY_SCALE = ((0.0, "rgba(127,127,127,0)"), (1.0, "rgba(127,127,127,0.6)"))


def attention_heatmap(view: AttentionView) -> go.Figure:
    """The view's weights as a heatmap in colours from the background (0) to ink (`scale_top` and more)."""
    weights = np.where(view.masked, np.nan, view.weights).astype(np.float32)
    keys, queries = categories(view.key_tokens), categories(view.query_tokens)
    top = scale_top(view)
    # Weight on tokens that are left out is grey: in the colour of attention it would drown the rest.
    rest = view.key_tokens[-1] is NOT_SHOWN
    drawn = len(keys) - 1 if rest else len(keys)
    saturated = "+" if float(np.nanmax(weights[:, :drawn], initial=0)) > top else ""
    shared = {
        "type": "heatmap",
        "y": queries,
        "zmin": 0,
        "hoverongaps": False,
        "hovertemplate": _("<b>%{y}</b> gives %{z:.1%} to <b>%{x}</b>") + "<extra></extra>",
        "xgap": 1 if len(keys) <= DRAWN_WHOLE else 0,
        "ygap": 1 if len(queries) <= DRAWN_WHOLE else 0,
    }
    colorbar = {
        "thickness": 8,
        "outlinewidth": 0,
        "tickvals": [0, top],
        "ticktext": ["0", percent(top) + saturated],
        "tickfont": {"size": 11},
        "lenmode": "pixels",
        "len": 140,
        "y": 1,
        "yanchor": "top",
        "xpad": 12,
    }
    cells = {"z": weights[:, :drawn], "x": keys[:drawn], "zmax": top, "colorscale": INK_SCALE, "colorbar": colorbar}
    left_out = {"z": weights[:, drawn:], "x": keys[drawn:], "zmax": 1, "colorscale": _GREY_SCALE, "showscale": False}
    # In one call: plotly takes three times as long over a figure that is changed bit by bit.
    return go.Figure(
        data=[shared | each for each in ((cells, left_out) if rest else (cells,))], layout=_layout(view, keys, queries)
    )


def _layout(view: AttentionView, keys: list[str], queries: list[str]) -> dict[str, object]:
    """The layout around the cells: axes, size and hatching."""
    cell = _cell_side(view)
    thinned = max(len(keys), len(queries)) > DRAWN_WHOLE
    layout: dict[str, object] = {
        "template": template(),
        "width": round(cell * len(keys)) + _LABEL_ROOM + _COLORBAR_ROOM,
        "height": round(cell * len(queries)) + _LABEL_ROOM,
        "xaxis": _token_axis(keys, cell, thinned, _("looks at (key)"), side="top", tickangle=-60),
        "yaxis": _token_axis(queries, cell, thinned, _("token (query)"), autorange="reversed"),
    }
    if thinned:
        layout["dragmode"] = "zoom"
    if view.masked.any():
        ground, lines = _hatching(view.masked)
        shape = {"type": "path", "layer": "below", "xref": "x", "yref": "y", "name": "masked"}
        layout["shapes"] = [
            shape | {"path": ground, "fillcolor": "rgba(127,127,127,0.12)", "line": {"width": 0}},
            shape | {"path": lines, "line": {"width": 1, "color": "rgba(127,127,127,0.45)"}},
        ]
    return layout


def _token_axis(names: list[str], cell: float, can_zoom: bool, title: str, **more: object) -> dict[str, object]:
    return {
        "type": "category",
        "title": {"text": title},
        "tickfont": {"size": 13 if cell >= 20 else 12 if cell >= 16 else 10},
        "range": [-0.5, len(names) - 0.5],
        "fixedrange": not can_zoom,
        **({"tickmode": "array", "tickvals": names} if len(names) <= DRAWN_WHOLE else {}),
        **more,
    }


def _cell_side(view: AttentionView) -> float:
    """The side of a cell in pixels: comfortable for a sentence, no smaller than a label up to `DRAWN_WHOLE` tokens."""
    tokens = max(len(view.query_tokens), len(view.key_tokens))
    if tokens > DRAWN_WHOLE:
        return _THINNED_WIDTH / tokens
    return min(_LARGEST_CELL, max(_SMALLEST_CELL, _COMFORTABLE_WIDTH / tokens))


def _hatching(masked: NDArray[np.bool_]) -> tuple[str, str]:
    """SVG paths of the masked cells `[query, key]` and of hatching across them, in cells; cell centres are integers."""
    rows, count = masked.shape
    ground = [
        f"M{first - 0.5},{row - 0.5}H{end - 0.5}V{row + 0.5}H{first - 0.5}Z"
        for row, hidden in enumerate(masked)
        for first, end in _runs(hidden)
    ]
    lines = []
    for total in range(0, rows + count - 1, max(1, max(rows, count) // _HATCH_LINES)):
        # A line that rises from left to right crosses the cells whose row and column add up to `total`.
        columns = np.arange(max(0, total - rows + 1), min(count, total + 1))
        for first, end in _runs(masked[total - columns, columns]):
            left, right = int(columns[first]), int(columns[end - 1])
            lines.append(f"M{left - 0.5},{total - left + 0.5}L{right + 0.5},{total - right - 0.5}")
    return "".join(ground), "".join(lines)


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs of true `flags`, each as its first position and its end (exclusive)."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


_EDGE = 8
_LETTER_WIDTH = 0.62
_LARGEST_LETTERS = 13
_LEAST_LABEL_STEP = 13
_SLANT = 60


def attention_svg(view: AttentionView) -> str:
    """An SVG of the heatmap: an image of a pixel per cell, more opaque for more weight, and tokens along its sides."""
    side = _cell_side(view)
    queries, keys = view.weights.shape
    letters = min(_LARGEST_LETTERS, max(10, round(side * 0.75)))
    # Slanted labels are less high than long, and stick out beyond the last column.
    left, top = _room(view.query_tokens, letters), _room(view.key_tokens, letters)
    hatched = ""
    if view.masked.any():
        ground, lines = _hatching(view.masked)
        hatched = (
            f'<g transform="scale({side:.4f}) translate(0.5 0.5)"><path class="hatched" d="{ground}"/>'
            f'<path class="hatching" vector-effect="non-scaling-stroke" d="{lines}"/></g>'
        )
    every = max(1, math.ceil(_LEAST_LABEL_STEP / side))
    rows = "".join(
        f'<text x="{-_EDGE}" y="{(row + 0.5) * side:.1f}" dy="0.35em" text-anchor="end">'
        f"{html.escape(label(view.query_tokens[row]))}</text>"
        for row in range(0, queries, every)
    )
    columns = "".join(
        f'<text transform="translate({(column + 0.5) * side:.1f} {-_EDGE}) rotate(-{_SLANT})" dy="0.35em">'
        f"{html.escape(label(view.key_tokens[column]))}</text>"
        for column in range(0, keys, every)
    )
    return (
        f'<svg class="cells" role="img" aria-label="{html.escape(read_out(view))}" '
        f'width="{left + side * keys + top / 2:.0f}" height="{top + side * queries:.0f}" '
        f'data-left="{left:.0f}" data-top="{top:.0f}" data-side="{side:.4f}">'
        f'<g transform="translate({left:.0f} {top:.0f})">{hatched}'
        f'<image class="ink" width="{side * keys:.2f}" height="{side * queries:.2f}" preserveAspectRatio="none" '
        f'href="{ink_image(np.where(view.masked, 0, view.weights / scale_top(view)))}"/>'
        f'<g font-size="{letters}">{rows}{columns}</g></g></svg>'
    )


def _room(tokens: Sequence[Token], letters: int) -> float:
    """The room in pixels that the longest label takes."""
    return max(len(label(token)) for token in tokens) * letters * _LETTER_WIDTH + 2 * _EDGE
