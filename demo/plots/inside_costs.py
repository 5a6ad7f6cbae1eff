"""What a layer costs as the text grows: self-attention, recurrence and convolution, on logarithmic axes."""

import math

import plotly.graph_objects as go

from demo.plots.template import AMBER, INK, MUTED, TEMPLATE
from models.inside.formulas import layer_costs

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
