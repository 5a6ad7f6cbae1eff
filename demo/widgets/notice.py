"""Sentences beside fields, figures and values as Gradio takes them."""

import html
import json
from typing import Any

import gradio as gr
import plotly.graph_objects as go
from gradio.blocks import Block
from gradio.components.plot import PlotData

from demo.web.gradio_private import component_class


def create_notice() -> gr.HTML:
    """A place for a sentence, right below the field it is about; it takes no room while there is none."""
    return gr.HTML("", visible=False, elem_classes="notice", padding=False)


def noticed(sentence: str) -> dict[str, Any]:
    """The update that shows `sentence`, or clears the place when there is none."""
    said = f'<p role="alert">{html.escape(sentence)}</p>' if sentence else ""
    return gr.update(value=said, visible=bool(sentence))


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


def held(value: object) -> gr.State:
    """A state that begins as `value`, which may be large: a recorded answer with its attention, say.

    Gradio copies the value of every state into the page's settings, six times at start, only to take it out again.
    """
    return _HeldState(value)


def _without_value(state: gr.State) -> dict[str, Any]:
    # What any block has; a state has only its value besides, and that stays here.
    return super(gr.State, state).get_config(Block)


_HeldState = component_class(gr.State, "HeldState", get_config=_without_value)
