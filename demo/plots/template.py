"""The parts that all figures share: plotly's template, the colours, and the labels of tokens."""

import html
from collections import Counter
from collections.abc import Sequence
from functools import cache

import plotly.graph_objects as go

from demo.language import _, language, number
from models.outputs.base import Token
from models.wording import Sentence

INK = "#1f4bb8"
"""The colour of attention, and of actions on the page."""
AMBER = "#b45309"
MUTED = "#6f7682"
"""Grey that can be read on white and on near-black, where the page's stylesheet does not reach (saved pictures)."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
TRANSPARENT = "rgba(0,0,0,0)"
# From transparent to ink, so that no weight shows the background in both the light and the dark theme.
INK_SCALE = ((0.0, "rgba(31,75,184,0)"), (1.0, "rgba(31,75,184,1)"))

LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "itemclick": False}
"""A legend in a line above the picture."""
GRID = {"showgrid": True, "gridcolor": "rgba(127,127,127,0.2)"}
"""Grid lines, for an axis whose values are to be read off."""
_LONGEST_LABEL = 16
_WITHOUT_WIDTH = "\u200b"
_AXIS = {
    "automargin": True,
    "showgrid": False,
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "fixedrange": True,
    "title": {"font": {"size": 12}, "standoff": 8},
    "tickfont": {"size": 12},
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": MUTED},
        "title": {"font": {"size": 14}, "x": 0, "xanchor": "left", "xref": "container", "yref": "container"},
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "colorway": [INK, AMBER],
        "hoverlabel": {
            "bgcolor": "#17191d",
            "bordercolor": "#17191d",
            "font": {"family": FONT, "size": 14, "color": "#ffffff"},
            "align": "left",
        },
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "dragmode": False,
        "showlegend": False,
    }
)


def template() -> go.layout.Template:
    """`TEMPLATE` with the separators of numbers in the visitor's language."""
    return _in_language(language(), number(0.5, ".1f")[1] + number(1000)[1])


@cache
def _in_language(code: str, separators: str) -> go.layout.Template:
    return TEMPLATE if code == "en" else go.layout.Template(TEMPLATE).update(layout={"separators": separators})


def label(token: Token) -> str:
    """The label of a token on an axis: stripped, with symbols for whitespace, and cut to `_LONGEST_LABEL` characters.

    A token whose text is a `Sentence` stands for something else than a text, and is labelled by that sentence.
    """
    if isinstance(token.text, Sentence):
        return _(token.text)
    text = token.text.strip() or {"\n": "⏎", "\t": "⇥", "": "∅"}.get(token.text.strip(" "), "␣")
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def harmless(text: str) -> str:
    """`text` escaped for plotly, which reads a few tags, entities and `$…$`: it then shows every character as it is."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def categories(tokens: Sequence[Token]) -> list[str]:
    """One distinct axis category per token: tokens that look the same differ by characters without width."""
    seen: Counter[str] = Counter()
    names = []
    for token in tokens:
        name = harmless(label(token))
        names.append(name + _WITHOUT_WIDTH * seen[name])
        seen[name] += 1
    return names
