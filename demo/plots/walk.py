"""The figures of the walk: vector strips, score matrices, lengths and cosines by layer, entropy, and costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from demo.language import _, number
from demo.plots.heatmap import attention_heatmap
from demo.plots.sheet import signed_image
from demo.plots.template import AMBER, INK, LEGEND, MUTED, TRANSPARENT, harmless, label, template
from demo.plots.view import AttentionView
from models.inside.formulas import layer_costs
from models.inside.outputs import Look, Numbers, Patched, Temperatures

_MINUS, _PLUS = (180, 83, 9), (31, 75, 184)
SIGNED_SCALE = ((0.0, f"rgba{(*_MINUS, 1)}"), (0.5, "rgba(127,127,127,0)"), (1.0, f"rgba{(*_PLUS, 1)}"))
"""A colour scale: orange below zero, blue above, transparent at zero."""

_UNSATURATED = 0.99
_UNSATURATED_IN_SQUARE = 0.98


def strip_top(*vectors: NDArray[np.float64] | Numbers) -> float:
    """The magnitude that gets full colour, a 99 % quantile, so that a few greater ones do not make the rest pale."""
    return float(np.quantile(np.abs(np.concatenate([vector.ravel() for vector in vectors])), _UNSATURATED)) or 1.0


def strip_image(vector: Numbers, top: float, *, upright: bool = False) -> str:
    """The PNG of `vector` as a data URI: a pixel for each number, in full colour from ±`top` on.

    The pixels stand in a row, or in a column if `upright`.
    """
    return signed_image((vector / top)[:, None] if upright else (vector / top)[None])


def vector_strips(strips: Mapping[str, Numbers], own_scale: str = "") -> go.Figure:
    """A heatmap with each vector `[component]` as a named row, all on one scale but the one called `own_scale`."""
    rows = np.stack(list(strips.values()))
    top = strip_top(*(vector for name, vector in strips.items() if name != own_scale))
    scales = [top / strip_top(vector) if name == own_scale else 1 for name, vector in strips.items()]
    return _signed_heatmap(
        rows * np.array(scales, dtype=np.float32)[:, None],
        top,
        _("%{y}: number %{x} is %{customdata:.3f}"),
        {"y": [harmless(name) for name in strips], "ygap": 3, "customdata": rows.round(4)},
        height=34 * len(strips) + 64,
        xaxis={"title": {"text": _("number of the vector, counted from 0")}},
        yaxis={"autorange": "reversed", "type": "category"},
    )


def position_grid(table: NDArray[np.float64] | Numbers, names: Sequence[str] = ()) -> go.Figure:
    """A heatmap of position vectors `[position, component]`, the first on top; `names`, if any, label the positions."""
    named = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(map(harmless, names))}
    return _signed_heatmap(
        table,
        strip_top(table),
        _("position %{y}, number %{x}: %{z:.3f}"),
        {"ygap": 0},
        height=320,
        xaxis={"title": {"text": _("number of the vector")}},
        yaxis={"autorange": "reversed", "title": {"text": _("position")}, **(named if names else {})},
    )


def _signed_heatmap(
    values: NDArray[np.float64] | Numbers, top: float, hover: str, trace: Mapping[str, Any], **layout: Any
) -> go.Figure:
    """A heatmap from −`top` to `top`."""
    colours = {"zmin": -top, "zmax": top, "colorscale": SIGNED_SCALE}
    end = number(top, ".2g")
    colorbar = {
        "thickness": 8, "outlinewidth": 0, "tickvals": [-top, 0, top], "ticktext": [f"−{end}", "0", end],
        "tickfont": {"size": 11}, "bgcolor": TRANSPARENT, "xpad": 8,
    }  # fmt: skip
    z, said = values.astype(np.float32).round(4), f"{hover}<extra></extra>"
    cells = go.Heatmap(z=z, hovertemplate=said, colorbar=colorbar, **colours, **trace)
    return go.Figure(cells, {"template": template(), **layout})


def shares_matrix(seen: Look) -> go.Figure:
    """A heatmap of the weights after softmax, small enough that two stand side by side."""
    numbers, tokens = seen.numbers, seen.tokens
    figure = attention_heatmap(
        AttentionView(
            seen.kind, seen.layer, seen.head, numbers.weights, numbers.masked, tokens, tokens, seen.kinds,
            seen.layers, seen.heads, "head",
        )
    )  # fmt: skip
    # A cell is at least as high as a legible label.
    side = min(26, max(14, 350 // len(tokens))) * len(tokens)
    return figure.update_layout(width=side + 170, height=side + 100)


def scores_matrix(seen: Look) -> go.Figure:
    """A heatmap of the scores divided by √d_k, orange below zero and blue above; masked ones, −∞, are hatched."""
    figure = shares_matrix(seen)
    scores = np.where(seen.numbers.masked, np.nan, seen.numbers.scaled).astype(np.float32)
    top = float(np.nanquantile(np.abs(scores), _UNSATURATED_IN_SQUARE)) or 1.0
    end = number(top, ".1f")
    figure.data[0].update(
        z=scores,
        zmin=-top,
        zmax=top,
        colorscale=SIGNED_SCALE,
        hovertemplate=_("<b>%{y}</b> with <b>%{x}</b>: %{z:.2f}") + "<extra></extra>",
        colorbar={"tickvals": [-top, 0, top], "ticktext": [f"−{end}", "0", end]},
    )
    return figure


def norms_figure(seen: Look) -> go.Figure:
    """The length of every token's vector before the first layer and after each."""
    return _lines(seen, seen.path.norms, _("length of the vector"), [0, float(seen.path.norms.max()) * 1.05])


def cosines_figure(seen: Look) -> go.Figure:
    """The cosine of every token's vector to its input, by layer: 1 in the same direction, 0 at a right angle."""
    lowest = min(0.0, float(seen.path.cosines.min()))
    return _lines(seen, seen.path.cosines, _("cosine to its input"), [lowest - 0.05, 1.05])


def _lines(seen: Look, values: Numbers, named: str, bounds: list[float]) -> go.Figure:
    """A line for each token of `values` `[layer + 1, token]`, the followed token's on top."""
    lines = []
    for place in sorted(range(len(seen.tokens)), key=lambda place: place == seen.position):
        followed = place == seen.position
        lines.append(
            go.Scatter(
                x=list(range(len(values))),
                y=values[:, place].round(4),
                mode="lines+markers" if followed else "lines",
                line={"color": INK if followed else "rgba(127,127,127,0.35)", "width": 3 if followed else 1},
                hovertemplate=_(
                    "<b>{token}</b> after layer %{{x}}: %{{y:.2f}}", token=harmless(label(seen.tokens[place]))
                )
                + "<extra></extra>",
            )
        )
    xaxis = {"title": {"text": _("after layer (0: the input)")}, "dtick": 1}
    yaxis = {"title": {"text": named}, "range": bounds}
    return go.Figure(lines, {"template": template(), "height": 240, "xaxis": xaxis, "yaxis": yaxis})


def entropy_figure(seen: Temperatures, at: int) -> go.Figure:
    """The answer's entropy in bits by temperature, with a point at number `at` of the temperatures."""
    x, y = seen.temperatures.round(2), seen.entropies.round(3)
    hover = _("T = %{x}: %{y:.2f} bits") + "<extra></extra>"
    line = go.Scatter(x=x, y=y, mode="lines", line=_LINES[0], hovertemplate=hover)
    point = go.Scatter(x=x[[at]], y=y[[at]], mode="markers", marker={"color": INK, "size": 12}, hoverinfo="skip")
    xaxis = {"title": {"text": _("temperature T")}, "range": [0, 3.05]}
    yaxis = {"title": {"text": _("entropy, bits")}, "range": [0, max(1.0, float(y.max())) * 1.08]}
    return go.Figure([line, point], {"template": template(), "height": 240, "xaxis": xaxis, "yaxis": yaxis})


def patched_figure(seen: Patched) -> go.Figure:
    """The probabilities of both sentences' answers by the layer after which the word's state was put in."""
    alone, own, *by_layer = seen.answers.probabilities
    figure = go.Figure(layout={"template": template(), "height": 260, "showlegend": True})
    for place, line in zip(dict.fromkeys((int(alone.argmax()), int(own.argmax()))), _LINES, strict=False):
        name = harmless(seen.answers.choices[place].strip())
        figure.add_scatter(
            x=list(range(len(by_layer))),
            y=np.array(by_layer)[:, place].round(4),
            mode="lines+markers",
            line=line,
            name=name,
            hovertemplate=_("{word}, put in after layer %{{x}}: %{{y:.1%}}", word=name) + "<extra></extra>",
        )
    return figure.update_layout(
        legend=LEGEND,
        xaxis={"title": {"text": _("put in after layer (0: the input)")}, "dtick": 1},
        yaxis={"title": {"text": _("probability")}, "range": [-0.02, 1.02], "tickformat": ".0%"},
    )


_LENGTHS = [2**power for power in range(15)]
_LINES = (
    {"color": INK, "width": 3},
    {"color": AMBER, "width": 3, "dash": "dash"},
    {"color": MUTED, "width": 3, "dash": "dot"},
)


def costs_figure(length: int, width: int) -> go.Figure:
    """Operations of a layer by number of tokens, for vectors of `width`, with the visitor's `length` marked."""
    figure = go.Figure(layout={"template": template()})
    for costs, line in zip(zip(*(layer_costs(each, width) for each in _LENGTHS), strict=True), _LINES, strict=True):
        name = _(costs[0].name)
        figure.add_scatter(
            x=_LENGTHS,
            y=[each.operations for each in costs],
            mode="lines",
            line=line,
            name=name,
            hovertemplate=_("{layer}, n = %{{x}}: %{{y:.3s}} operations", layer=name) + "<extra></extra>",
        )
    # On a logarithmic axis, plotly places shapes by their value and annotations by its logarithm.
    for each, marked in ((length, _("your text, n = {length}", length=length)), (width, f"n = d = {width}")):
        figure.add_shape(
            type="line", x0=each, x1=each, y0=0, y1=1, xref="x", yref="paper", line={"color": MUTED, "width": 1}
        )
        figure.add_annotation(
            x=math.log10(each), xref="x", y=1, yref="paper", text=marked, showarrow=False, xanchor="left",
            yanchor="top", textangle=-90, xshift=2,
        )  # fmt: skip
    return figure.update_layout(
        height=340,
        showlegend=True,
        legend=LEGEND,
        xaxis={"type": "log", "title": {"text": _("tokens, n")}, "dtick": 1, "range": [0, math.log10(_LENGTHS[-1])]},
        yaxis={"type": "log", "title": {"text": _("operations")}, "dtick": 2, "exponentformat": "power"},
    )
