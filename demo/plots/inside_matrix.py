"""A head's scores and shares as two squares: queries down, keys across, what is masked hatched."""

import numpy as np
import plotly.graph_objects as go

from demo.plots.heatmap import attention_heatmap
from demo.plots.inside_strips import SIGNED_SCALE
from demo.plots.view import AttentionView
from models.inside.outputs import Look

_UNSATURATED = 0.98
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
    top = float(np.nanquantile(np.abs(scores), _UNSATURATED)) or 1.0
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
