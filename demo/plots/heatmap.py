"""Attention as a heatmap: queries down, keys across, masked positions hatched."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from demo.plots.reading import percent, scale_top
from demo.plots.template import INK_SCALE, TEMPLATE, categories
from demo.plots.view import NOT_SHOWN, AttentionView

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
    """The view's weights as cells whose colour goes from the ground (0) to ink (`scale_top` and more)."""
    weights = np.where(view.masked, np.nan, view.weights).astype(np.float32)
    keys, queries = categories(view.key_tokens), categories(view.query_tokens)
    top = scale_top(view)
    # What goes to tokens that are left out has no colour of attention, which it would drown.
    rest = view.key_tokens[-1] is NOT_SHOWN
    drawn = len(keys) - 1 if rest else len(keys)
    saturated = "+" if float(np.nanmax(weights[:, :drawn], initial=0)) > top else ""
    shared = {
        "type": "heatmap",
        "y": queries,
        "zmin": 0,
        "hoverongaps": False,
        "hovertemplate": "<b>%{y}</b> gives %{z:.1%} to <b>%{x}</b><extra></extra>",
        "xgap": 1 if len(keys) <= DRAWN_WHOLE else 0,
        "ygap": 1 if len(queries) <= DRAWN_WHOLE else 0,
    }
    cells = shared | {
        "z": weights[:, :drawn],
        "x": keys[:drawn],
        "zmax": top,
        "colorscale": INK_SCALE,
        "colorbar": {
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
        },
    }
    left_out = shared | {
        "z": weights[:, drawn:],
        "x": keys[drawn:],
        "zmax": 1,
        "colorscale": _GREY_SCALE,
        "showscale": False,
    }
    # All at once: plotly takes three times as long over a figure that is changed bit by bit.
    return go.Figure(data=[cells, left_out] if rest else [cells], layout=_layout(view, keys, queries))


def _layout(view: AttentionView, keys: list[str], queries: list[str]) -> dict[str, object]:
    """The layout around the cells: axes, size and hatching."""
    most = max(len(keys), len(queries))
    cell = cell_side(most)
    across = _token_axis(keys, cell) | {"side": "top", "tickangle": -60, "title": {"text": "looks at (key)"}}
    down = _token_axis(queries, cell) | {"autorange": "reversed", "title": {"text": "token (query)"}}
    layout: dict[str, object] = {
        "template": TEMPLATE,
        "width": round(cell * len(keys)) + _LABEL_ROOM + _COLORBAR_ROOM,
        "height": round(cell * len(queries)) + _LABEL_ROOM,
    }
    if view.masked.any():
        layout["shapes"] = _hatching(view.masked)
    if most > DRAWN_WHOLE:
        layout["dragmode"] = "zoom"
        across["fixedrange"] = down["fixedrange"] = False
    return layout | {"xaxis": across, "yaxis": down}


def cell_side(tokens: int) -> float:
    """The side of a cell in pixels: comfortable for a sentence, no smaller than a label up to `DRAWN_WHOLE` tokens."""
    if tokens > DRAWN_WHOLE:
        return _THINNED_WIDTH / tokens
    return min(_LARGEST_CELL, max(_SMALLEST_CELL, _COMFORTABLE_WIDTH / tokens))


def _token_axis(names: list[str], cell: float) -> dict[str, object]:
    size = 13 if cell >= 20 else 12 if cell >= 16 else 10
    whole: dict[str, object] = {"tickmode": "array", "tickvals": names} if len(names) <= DRAWN_WHOLE else {}
    return {
        "type": "category",
        "tickfont": {"size": size},
        "range": [-0.5, len(names) - 0.5],
        **whole,
    }


def hatching(masked: NDArray[np.bool_]) -> tuple[str, str]:
    """The masked cells `[query, key]`, and lines across them, as SVG paths in steps of a cell from its middle."""
    rows, count = masked.shape
    ground = []
    for row, hidden in enumerate(masked):
        for first, behind in _runs(hidden):
            ground.append(f"M{first - 0.5},{row - 0.5}H{behind - 0.5}V{row + 0.5}H{first - 0.5}Z")
    lines = []
    step = max(1, max(rows, count) // _HATCH_LINES)
    for total in range(0, rows + count - 1, step):
        # A line that rises from left to right crosses the cells whose row and column add up to `total`.
        columns = np.arange(max(0, total - rows + 1), min(count, total + 1))
        for first, behind in _runs(masked[total - columns, columns]):
            left, right = int(columns[first]), int(columns[behind - 1])
            lines.append(f"M{left - 0.5},{total - left + 0.5}L{right + 0.5},{total - right - 0.5}")
    return "".join(ground), "".join(lines)


def _hatching(masked: NDArray[np.bool_]) -> list[dict[str, object]]:
    """Grey under the masked cells and lines across them, as two shapes."""
    ground, lines = hatching(masked)
    shared = {"type": "path", "layer": "below", "xref": "x", "yref": "y", "name": "masked"}
    return [
        shared | {"path": ground, "fillcolor": "rgba(127,127,127,0.12)", "line": {"width": 0}},
        shared | {"path": lines, "line": {"width": 1, "color": "rgba(127,127,127,0.45)"}},
    ]


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches where `flags` hold, each as its first position and the one behind its last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(first), int(behind)) for first, behind in zip(edges[::2], edges[1::2], strict=True)]
