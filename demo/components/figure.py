"""Plotly figures as the page shows them."""

import json

import plotly.graph_objects as go
from gradio.components.plot import PlotData

_CONFIG = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "filename": "clearhead", "scale": 2},
}


def drawn(figure: go.Figure) -> PlotData:
    """The figure for a `gr.Plot`, with no logo and no button but the one that saves it."""
    return PlotData(type="plotly", plot=f'{{"config":{json.dumps(_CONFIG)},{str(figure.to_json())[1:]}')
