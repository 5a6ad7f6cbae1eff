"""Plotly figures for the page, and redrawn for a lecture room: larger type, and heatmaps that fit the screen."""

import json
from typing import Any

import gradio as gr
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
    """The figure for a `gr.Plot`, with plotly's button that saves it and, with `zoom`, those that zoom, but no logo."""
    config = _CONFIG | (_ZOOM if zoom else {})
    return PlotData(type="plotly", plot=f'{{"config":{json.dumps(config)},{str(figure.to_json())[1:]}')


def figure_place(figure: PlotData | None, name: str, *classes: str, **more: Any) -> gr.Plot:
    """A plot component that begins with `figure`; screen readers call it `name`."""
    return gr.Plot(figure, label=name, show_label=False, container=False, elem_classes=list(classes), **more)


TYPE_PX = 22
"""The smallest type size in pixels on a screen of 1280 × 720; on larger screens it grows in proportion."""

_SQUARE_PX = 380
_LARGEST_CELL, _SMALLEST_CELL = 40.0, 23.5
_LETTER = 0.56
"""The width of a letter, as a share of the type's size."""
_LONGEST_NAME = 16
_TITLE_PX = 44
_HIGHER = 1.25
"""The factor by which a figure without a width of its own is made higher for the larger type."""


def for_room(plot: PlotData, scale: float) -> PlotData:
    """`plot` with type of `TYPE_PX` × `scale` pixels, its cells as large as the screen has room for."""
    figure = json.loads(plot.plot)
    layout = figure["layout"]
    _set_type(figure, TYPE_PX * scale)
    if "width" in layout and figure["data"][0]["type"] == "heatmap":
        keys, queries = figure["data"][0]["x"], figure["data"][0]["y"]
        cell = min(_LARGEST_CELL, max(_SMALLEST_CELL, _SQUARE_PX / len(queries))) * scale
        layout["width"] = round(cell * len(keys) + _label_room(queries) * scale)
        # Labels of columns stand at 60 degrees, whose sine is 0.87.
        layout["height"] = round(cell * len(queries) + 0.87 * _label_room(keys) * scale)
        figure["data"][0]["showscale"] = False
    elif "height" in layout:
        layout["height"] = round(layout["height"] * _HIGHER * scale)
    return PlotData(type=plot.type, plot=json.dumps(figure))


def _label_room(names: list[str]) -> float:
    """Pixels beside the cells, for the longest of `names` and the axis's title."""
    longest = max(min(len(name.rstrip("\u200b\u200c\u2060")), _LONGEST_NAME) for name in names)
    return longest * _LETTER * TYPE_PX + _TITLE_PX


def _set_type(part: Any, size: float) -> None:
    """Set every font inside `part` of a figure to `size`."""
    if isinstance(part, dict):
        for name in {"font", "tickfont"} & part.keys():
            part[name]["size"] = size
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _set_type(each, size)
