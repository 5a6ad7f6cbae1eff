"""What a picture says, in words: numbers as shares of a whole, and the strongest link of an attention view."""

import numpy as np

from demo.plots.template import label
from demo.plots.view import AttentionView
from models.outputs import MEAN

_NARROW_SPACE = "\u202f"
_SHOWN_UNSATURATED = 0.95


def percent(share: float) -> str:
    """A share of one as visitors read it: `62 %`, `3.4 %`, `under 0.1 %`, `over 99.9 %`."""
    hundredths = 100 * share
    if hundredths >= 99.999:
        number = "100"
    elif hundredths >= 99.95:
        return f"over 99.9{_NARROW_SPACE}%"
    elif hundredths > 99:
        number = f"{hundredths:.1f}"
    elif hundredths >= 9.95:
        number = f"{hundredths:.0f}"
    elif hundredths >= 0.1:
        number = f"{hundredths:.1f}"
    else:
        return f"under 0.1{_NARROW_SPACE}%"
    return f"{number}{_NARROW_SPACE}%"


def place(view: AttentionView) -> str:
    """Which heads the weights are from, layers and heads counted from 1, as visitors count them."""
    layer, head = view.layer, view.head
    match view.how:
        case "maximum":
            return f"in one of the heads of layer {layer + 1}" if layer != MEAN else "in one of all heads"
        case "rollout":
            last = layer if layer != MEAN else view.layers - 1
            return f"by the end of layer {last + 1}" if last else "by the end of the first layer"
    if layer == MEAN and head == MEAN:
        return "on average over all layers and heads"
    if layer == MEAN:
        return f"in head {head + 1}, on average over all layers"
    if head == MEAN:
        return f"in layer {layer + 1}, on average over its heads"
    return f"in layer {layer + 1}, head {head + 1}"


def strongest_link(view: AttentionView) -> tuple[int, int]:
    """The query and key of the strongest link between two different words, or of any where there are no such two.

    Marks of the model's own are left out: most heads rest on them, which tells nothing about the text. A weight
    counts by how far it exceeds an even share, so that a token that may look at few others does not always win.
    """
    queries = np.array([not token.is_mark for token in view.query_tokens], dtype=np.bool_)
    keys = np.array([not token.is_mark for token in view.key_tokens], dtype=np.bool_)
    allowed = queries[:, None] & keys[None, :] & np.logical_not(view.masked)
    if not view.two_texts:
        allowed &= ~np.eye(*allowed.shape, dtype=np.bool_)
    if not allowed.any():
        allowed = ~view.masked
    even_share = 1 / (~view.masked).sum(axis=1, keepdims=True)
    best = int(np.where(allowed, view.weights / even_share, -1.0).argmax())
    return best // view.weights.shape[1], best % view.weights.shape[1]


def scale_top(view: AttentionView) -> float:
    """The weight that is drawn darkest: the strongest link's, or that of all but a twentieth of the cells if greater.

    A scale up to the greatest weight of all would leave the words pale wherever special tokens take most.
    """
    words = [not token.special for token in view.key_tokens]
    shown = view.weights[:, words][~view.masked[:, words]]
    common = float(np.quantile(shown, _SHOWN_UNSATURATED)) if shown.size else 0.0
    return max(float(view.weights[strongest_link(view)]), common, 1e-6)


def read_out(view: AttentionView) -> str:
    """The strongest link as one sentence."""
    query, key = strongest_link(view)
    share = percent(float(view.weights[query, key]))
    giver, taker = label(view.query_tokens[query]), label(view.key_tokens[key])
    if view.how == "rollout":
        return f"Of what stands at “{giver}” {place(view)}, {share} has come from “{taker}”."
    most = "up to " if view.how == "maximum" else ""
    return f"“{giver}” gives {most}{share} of its weight to “{taker}” {place(view)}."
