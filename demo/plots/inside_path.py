"""How vectors move through the layers: one thin line for each token, a thick one for the token that is followed."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from demo.plots.template import INK, TEMPLATE, harmless, label
from models.inside.outputs import Look

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
