"""A figure of one word's vectors at a layer as points in a plane, with the vector that it has by itself."""

import plotly.graph_objects as go

from demo.language import _
from demo.plots.reading import percent
from demo.plots.template import AMBER, INK, harmless, template
from models.outputs.vectors import WordInContextOutput

# Vectors of length one are at most two apart; the same range for every layer shows how far they move.
_REACH = 1.05
_HEIGHT = 380
_BESIDE = ("top center", "bottom center", "middle right", "middle left", "top right", "bottom left")
"""The places of the sentences' numbers beside their points, so that coinciding points can all be read."""


def word_plane(output: WordInContextOutput, layer: int) -> go.Figure:
    """The word in each sentence as a numbered point, before any layer as a diamond; axes name their variance."""
    plane = output.planes[layer]
    count = len(plane.points)
    occurrences = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _y in plane.points],
        "y": [y for _x, y in plane.points],
        "text": [str(number) for number in range(1, count + 1)],
        "textposition": list(_BESIDE[:count]),
        "textfont": {"size": 16},
        "customdata": [harmless(each.sentence) for each in output.occurrences],
        "hovertemplate": "%{text}: %{customdata}<extra></extra>",
        "marker": {"size": 12, "color": INK},
    }
    static = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [plane.static[0]],
        "y": [plane.static[1]],
        "text": [harmless(_("“{word}” alone", word=output.word))],
        "textposition": "top center",
        "textfont": {"size": 14},
        "hovertemplate": _("the word before any layer read a sentence") + "<extra></extra>",
        "marker": {"size": 13, "color": AMBER, "symbol": "diamond"},
    }
    first, second = map(percent, plane.shares)
    across = _axis(_("first direction of largest difference: {share}", share=first))
    down = _axis(_("second direction of largest difference: {share}", share=second)) | {"scaleanchor": "x"}
    layout = {"template": template(), "height": _HEIGHT, "xaxis": across, "yaxis": down}
    return go.Figure(data=[occurrences, static], layout=layout)


def _axis(title: str) -> dict[str, object]:
    return {
        "range": [-_REACH, _REACH],
        "showticklabels": False,
        "zeroline": True,
        "zerolinewidth": 1,
        "zerolinecolor": "rgba(127,127,127,0.35)",
        "title": {"text": title},
    }
