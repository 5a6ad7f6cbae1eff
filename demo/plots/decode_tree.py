"""Three strategies of decoding as one tree: the prompt on the left, one column per step, the likeliest on top."""

import math
from collections.abc import Iterable

import plotly.graph_objects as go

from demo.language import N_, _
from demo.plots.reading import decimals, percent
from demo.plots.template import AMBER, INK, MUTED, harmless, label, template
from models.outputs.base import Token
from models.outputs.writing import DecodeTree, TreeNode

NAMES = {"greedy": N_("greedy search"), "beam": N_("beam search"), "sample": N_("sampling")}
_GREEN = "#1a7f4e"
_COLUMN, _LANE = 96, 44
_ROOM = 70
_HEAD = 90
_LONGEST = 11
# Line, opacity and marker of each strategy, the widest line first so that it is drawn under the others.
_STRATEGIES = {
    "beam": ({"color": INK, "width": 7}, 0.45, "circle"),
    "greedy": ({"color": _GREEN, "width": 2.5}, 1.0, "square"),
    "sample": ({"color": AMBER, "width": 2.5, "dash": "dash"}, 1.0, "diamond"),
}


def decode_tree_figure(tree: DecodeTree) -> go.Figure:
    """The tree as a figure: tokens are labelled points, and lines show which strategy chose, kept or dropped them."""
    lanes = _lanes(tree.nodes)

    def edges(nodes: Iterable[TreeNode], name: str, line: dict[str, object], opacity: float = 1.0) -> go.Scatter:
        """One trace with the lines from parents to `nodes`, which turn half-way between columns, where no label is."""
        across: list[float | None] = []
        down: list[float | None] = []
        for node in nodes:
            start, end = tree.nodes[node.parent].depth, node.depth
            across += [start, (start + end) / 2, (start + end) / 2, end, None]
            down += [lanes[node.parent], lanes[node.parent], lanes[node.id], lanes[node.id], None]
        return go.Scatter(x=across, y=down, mode="lines", line=line, opacity=opacity, name=name, hoverinfo="skip")

    others = [node for node in tree.nodes[1:] if not node.strategies]
    dropped = {"color": "rgba(111,118,130,0.55)", "width": 1, "dash": "dot"}
    traces = [
        edges((node for node in others if not node.kept), _("dropped"), dropped),
        edges((node for node in others if node.kept), _("kept for a while"), {"color": MUTED, "width": 1.5}),
        *(
            edges((node for node in tree.nodes[1:] if strategy in node.strategies), _(NAMES[strategy]), line, opacity)
            for strategy, (line, opacity, _mark) in _STRATEGIES.items()
        ),
        _points(tree, lanes),
    ]
    depth = max(node.depth for node in tree.nodes)
    low, high = min(lanes), max(lanes)
    layout = {
        "template": template(),
        "width": (depth + 1) * _COLUMN + _ROOM,
        "height": round((high - low + 1) * _LANE) + _HEAD + _ROOM,
        "margin": {"l": 8, "r": 8, "t": 84, "b": 8},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12},
                   "itemclick": False, "itemdoubleclick": False},
        "dragmode": "pan",
        "xaxis": {"range": [-0.6, depth + 0.7], "fixedrange": False, "dtick": 1, "tick0": 1,
                  "title": {"text": _("step (under each token its log-probability)")}},
        "yaxis": {"range": [high + 0.8, low - 0.8], "fixedrange": False, "visible": False},
    }  # fmt: skip
    return go.Figure(data=traces, layout=layout)


def _lanes(nodes: tuple[TreeNode, ...]) -> list[float]:
    """The vertical place of each node in its centred column, sorted by its parent's place, then likeliest first.

    In this order, lines between neighbouring columns never cross.
    """
    lanes = [0.0] * len(nodes)
    for depth in range(1, max(node.depth for node in nodes) + 1):
        column = [node for node in nodes if node.depth == depth]
        column.sort(key=lambda node: (lanes[node.parent], -node.total))
        for place, node in enumerate(column):
            lanes[node.id] = place - (len(column) - 1) / 2
    return lanes


def _points(tree: DecodeTree, lanes: list[float]) -> go.Scatter:
    marks = []
    for node in tree.nodes:
        mark = ("circle" if node.kept else "x-thin-open", MUTED)
        taken_by = [style for strategy, style in _STRATEGIES.items() if strategy in node.strategies]
        marks.append((taken_by[0][2], taken_by[0][0]["color"]) if taken_by else mark)
    return go.Scatter(
        x=[node.depth for node in tree.nodes],
        y=lanes,
        mode="markers+text",
        marker={
            "size": [9 if node.strategies else 6 for node in tree.nodes],
            "symbol": [symbol for symbol, _colour in marks],
            "color": [colour for _symbol, colour in marks],
            "line": {"width": [0 if node.kept or node.strategies else 1 for node in tree.nodes], "color": MUTED},
        },
        text=[_shown(node) for node in tree.nodes],
        textposition="top center",
        textfont={"size": 12},
        hovertext=[_told(node) for node in tree.nodes],
        hoverinfo="text",
        showlegend=False,
        name="tokens",
    )


def token_name(node: TreeNode) -> str:
    """The name of a node's token in pictures and tables; the root is the prompt."""
    return _("prompt") if node.parent < 0 else label(Token(node.token, node.token, node.token_id))


def _shown(node: TreeNode) -> str:
    name = token_name(node)
    name = harmless(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    written = f"<b>{name}</b>" if "beam" in node.strategies else name
    if node.parent < 0:
        return written
    return f"{written}<br><span style='font-size:10px'>{decimals(node.log_probability)}</span>"


def _told(node: TreeNode) -> str:
    if node.parent < 0:
        return _("the prompt")
    chosen = ", ".join(_(NAMES[each]) for each in node.strategies)
    if chosen:
        fate = _("in the text of {strategies}", strategies=chosen)
    else:
        fate = _("kept for a while by beam search") if node.kept else _("dropped")
    here = _(
        "<b>{token}</b> {share} here (log-probability {logarithm})",
        token=harmless(token_name(node)),
        share=percent(math.exp(node.log_probability)),
        logarithm=decimals(node.log_probability),
    )
    return f"{here}<br>{_('whole draft: {logarithm}', logarithm=decimals(node.total))}<br>{fate}"
