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


_ZOOM = {"displayModeBar": True, "modeBarButtons": [["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]]}


def drawn(figure: go.Figure, zoom: bool = False) -> PlotData:
    """The figure for a `gr.Plot`, with no logo and no button but the one that saves it, and those that `zoom`."""
    config = _CONFIG | (_ZOOM if zoom else {})
    return PlotData(type="plotly", plot=f'{{"config":{json.dumps(config)},{str(figure.to_json())[1:]}')
