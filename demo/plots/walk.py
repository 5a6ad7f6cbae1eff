"""The figures of the walk: vectors as strips, squares of scores, ways through the layers, costs."""

import io
import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from demo.plots.heatmap import attention_heatmap
from demo.plots.sheet import data_uri
from demo.plots.template import AMBER, INK, MUTED, TEMPLATE, TRANSPARENT, harmless, label
from demo.plots.view import AttentionView
from models.inside.formulas import layer_costs
from models.inside.outputs import Look

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


_UNSATURATED_INSIDE_MATRIX = 0.98
_LARGEST_CELL = 26
_SMALLEST_CELL = 14
_COMFORTABLE_WIDTH = 350
_LABEL_ROOM = 100
_COLORBAR_ROOM = 70


def shares_matrix(seen: Look) -> go.Figure:
    """The weights after softmax, in the colours of attention."""
    return _square(seen)


def scores_matrix(seen: Look) -> go.Figure:
    """The scores divided by √d_k, orange below zero and blue above; what is masked counts as −∞."""
    figure = _square(seen)
    scores = np.where(seen.numbers.masked, np.nan, seen.numbers.scaled).astype(np.float32)
    top = float(np.nanquantile(np.abs(scores), _UNSATURATED_INSIDE_MATRIX)) or 1.0
    figure.data[0].update(
        z=scores,
        zmin=-top,
        zmax=top,
        colorscale=SIGNED_SCALE,
        hovertemplate="<b>%{y}</b> with <b>%{x}</b>: %{z:.2f}<extra></extra>",
    )
    figure.data[0].colorbar.update(tickvals=[-top, 0, top], ticktext=[f"−{top:.1f}", "0", f"{top:.1f}"])
    return figure


def _square(seen: Look) -> go.Figure:
    """The weights, so small that two squares stand side by side as long as their tokens can be read."""
    figure = attention_heatmap(_view(seen))
    side = min(_LARGEST_CELL, max(_SMALLEST_CELL, _COMFORTABLE_WIDTH // len(seen.tokens))) * len(seen.tokens)
    figure.update_layout(width=side + _LABEL_ROOM + _COLORBAR_ROOM, height=side + _LABEL_ROOM)
    return figure


def _view(seen: Look) -> AttentionView:
    return AttentionView(
        seen.kind,
        seen.layer,
        seen.head,
        seen.numbers.weights,
        seen.numbers.masked,
        seen.tokens,
        seen.tokens,
        seen.kinds,
        seen.layers,
        seen.heads,
        "head",
    )


_HEIGHT = 240
_OTHERS = "rgba(127,127,127,0.35)"


def norms_figure(seen: Look) -> go.Figure:
    """The length of every token's vector before the first layer and after each."""
    return _lines(seen, seen.path.norms, "length of the vector", [0, float(seen.path.norms.max()) * 1.05])


def cosines_figure(seen: Look) -> go.Figure:
    """How far every token's vector points where its input did: 1 the same way, 0 at a right angle."""
    return _lines(
        seen, seen.path.cosines, "cosine to its input", [min(0.0, float(seen.path.cosines.min())) - 0.05, 1.05]
    )


def _lines(seen: Look, values: NDArray[np.float32], named: str, bounds: list[float]) -> go.Figure:
    figure = go.Figure(layout={"template": TEMPLATE})
    steps = list(range(len(values)))
    order = [place for place in range(len(seen.tokens)) if place != seen.position] + [seen.position]
    for place in order:
        followed = place == seen.position
        name = harmless(label(seen.tokens[place]))
        figure.add_trace(
            go.Scatter(
                x=steps,
                y=values[:, place].round(4),
                mode="lines+markers" if followed else "lines",
                line={"color": INK if followed else _OTHERS, "width": 3 if followed else 1},
                hovertemplate=f"<b>{name}</b> after layer %{{x}}: %{{y:.2f}}<extra></extra>",
            )
        )
    figure.update_layout(
        height=_HEIGHT,
        xaxis={"title": {"text": "after layer (0: the input)"}, "dtick": 1},
        yaxis={"title": {"text": named}, "range": bounds},
    )
    return figure


_SHORTEST, _LONGEST = 1, 16_384
_LINES = {
    "self-attention": {"color": INK, "width": 3},
    "recurrence": {"color": AMBER, "width": 3, "dash": "dash"},
    "convolution": {"color": MUTED, "width": 3, "dash": "dot"},
}


def costs_figure(length: int, width: int) -> go.Figure:
    """Operations of a layer over the number of tokens, with the visitor's `length` marked, for vectors of `width`."""
    lengths = [_SHORTEST]
    while lengths[-1] < _LONGEST:
        lengths.append(2 * lengths[-1])
    figure = go.Figure(layout={"template": TEMPLATE})
    for place, (name, line) in enumerate(_LINES.items()):
        figure.add_trace(
            go.Scatter(
                x=lengths,
                y=[layer_costs(each, width)[place].operations for each in lengths],
                mode="lines",
                line=line,
                name=name,
                hovertemplate=f"{name}, n = %{{x}}: %{{y:.3s}} operations<extra></extra>",
            )
        )
    # Plotly places shapes on such an axis by their value, and notes by its logarithm.
    for each, marked in ((length, f"your text, n = {length}"), (width, f"n = d = {width}")):
        figure.add_shape(
            type="line", x0=each, x1=each, y0=0, y1=1, xref="x", yref="paper", line={"color": MUTED, "width": 1}
        )
        figure.add_annotation(
            x=math.log10(each), xref="x", y=1, yref="paper", text=marked, showarrow=False, xanchor="left",
            yanchor="top", textangle=-90, xshift=2,
        )  # fmt: skip
    figure.update_layout(
        height=340,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "itemclick": False},
        xaxis={"type": "log", "title": {"text": "tokens, n"}, "dtick": 1, "range": [0, math.log10(_LONGEST)]},
        yaxis={"type": "log", "title": {"text": "operations"}, "dtick": 2, "exponentformat": "power"},
    )
    return figure
