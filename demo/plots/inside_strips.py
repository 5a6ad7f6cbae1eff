"""Vectors as strips: one cell for each number, orange below zero, blue above, the ground itself at zero.

They are figures that tell each number, or bare pictures to put many of into a text.
"""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from demo.plots.sheet import data_uri
from demo.plots.template import TEMPLATE, TRANSPARENT, harmless

_MINUS, _PLUS = (180, 83, 9), (31, 75, 184)
SIGNED_SCALE = ((0.0, f"rgba{(*_MINUS, 1)}"), (0.5, "rgba(127,127,127,0)"), (1.0, f"rgba{(*_PLUS, 1)}"))
"""Orange for minus, blue for plus, and nothing between them."""

_UNSATURATED = 0.99
_STRIP_HEIGHT = 34
_ROOM = 64
_POSITIONS_HEIGHT = 320


def strip_top(*vectors: NDArray[np.float64] | NDArray[np.float32]) -> float:
    """The number that gets the full colour, so that few greater ones do not make all others pale."""
    return float(np.quantile(np.abs(np.concatenate([vector.ravel() for vector in vectors])), _UNSATURATED)) or 1.0


def strip_image(vector: NDArray[np.float32], top: float) -> str:
    """A pixel for each number of `vector`, in full colour from ±`top` on, as the address of a PNG."""
    pixels = np.zeros((1, len(vector), 4), dtype=np.uint8)
    pixels[0, :, :3] = np.where(vector[:, None] < 0, _MINUS, _PLUS)
    pixels[0, :, 3] = np.rint(255 * np.minimum(np.abs(vector) / top, 1))
    file = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    return data_uri(file.getvalue())


def vector_strips(strips: Mapping[str, NDArray[np.float32]], own_scale: str = "") -> go.Figure:
    """Each vector `[component]` as a row under its name, all on one scale but for the one called `own_scale`."""
    rows = np.stack(list(strips.values()))
    own = np.array([name == own_scale for name in strips])
    top = strip_top(rows[~own])
    shades = rows.copy()
    shades[own] *= top / strip_top(rows[own]) if own.any() else 1
    figure = _signed(shades, top, [harmless(name) for name in strips], "%{y}: number %{x} is %{customdata:.3f}")
    figure.update_traces(customdata=rows.round(4))
    figure.update_layout(
        height=_STRIP_HEIGHT * len(strips) + _ROOM,
        xaxis={"title": {"text": "number of the vector, counted from 0"}},
        yaxis={"autorange": "reversed", "type": "category"},
    )
    return figure


def position_grid(table: NDArray[np.float64] | NDArray[np.float32], names: Sequence[str] = ()) -> go.Figure:
    """Vectors of positions `[position, component]`, the first on top; `names` say what stands at each, if anything."""
    figure = _signed(table, strip_top(table), None, "position %{y}, number %{x}: %{z:.3f}")
    named = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(map(harmless, names))}
    figure.update_layout(
        height=_POSITIONS_HEIGHT,
        xaxis={"title": {"text": "number of the vector"}},
        yaxis={"autorange": "reversed", "title": {"text": "position"}, **(named if names else {})},
    )
    return figure


def _signed(
    values: NDArray[np.float64] | NDArray[np.float32], top: float, rows: list[str] | None, hover: str
) -> go.Figure:
    """A heatmap from −`top` to `top`."""
    figure = go.Figure(layout={"template": TEMPLATE})
    figure.add_trace(
        go.Heatmap(
            z=values.astype(np.float32).round(4),
            y=rows,
            zmin=-top,
            zmax=top,
            colorscale=SIGNED_SCALE,
            ygap=3 if rows else 0,
            hovertemplate=hover + "<extra></extra>",
            colorbar={
                "thickness": 8,
                "outlinewidth": 0,
                "tickvals": [-top, 0, top],
                "ticktext": [f"−{top:.2g}", "0", f"{top:.2g}"],
                "tickfont": {"size": 11},
                "bgcolor": TRANSPARENT,
                "xpad": 8,
            },
        )
    )
    return figure
