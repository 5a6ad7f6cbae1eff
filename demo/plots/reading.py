"""Pictures in words: numbers as shares of a whole, and one link of an attention view as a sentence."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from demo.plots.template import label
from demo.plots.view import NOT_SHOWN, AttentionView, is_resting_place, own_keys, resting_places
from models.outputs import MEAN, Token

_NARROW_SPACE = "\u202f"
_SHOWN_UNSATURATED = 0.95
# Less than half a percent on marks and full stops is not worth a mention.
_LEAST_SAID = 0.005


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
    """The layer and head of the weights in words, counted from 1 as visitors count them."""
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


@dataclass(frozen=True)
class Wording:
    """The sentence on one word of a view, with places for the words `{from}` and `{to}` and for a `{share}`.

    `gives` is about a word that looks, `itself` about one that looks at itself, and `gets` about one that is looked at.
    `rest` goes on with what marks and full stops get, and is empty where shares do not add up.
    """

    gives: str
    itself: str
    gets: str
    rest: str


def wording(view: AttentionView) -> Wording:
    """How `view` is read out, a word at a time."""
    where = place(view)
    gone = view.left_out or resting_places(view.key_tokens)
    if view.how == "rollout":
        of_it = f"Of what stands at “{{from}}” {where}, {{share}} has come from"
        rest = f"; {{share}} came from {gone}" if gone else ""
        return Wording(f"{of_it} “{{to}}”", f"{of_it} “{{from}}” itself", f"{of_it} “{{to}}”", rest)
    most = "up to " if view.how == "maximum" else ""
    weight = f"gives {most}{{share}} of its weight to"
    return Wording(
        f"“{{from}}” {weight} “{{to}}” {where}",
        f"“{{from}}” {weight} itself {where}",
        f"“{{to}}” gets {most}{{share}} of the weight of “{{from}}” {where}",
        f"; {{share}} went to {gone}" if gone and view.how != "maximum" else "",
    )


def link_to_read(view: AttentionView) -> tuple[int, int]:
    """The query to begin with and the key to read out: of the words that it looks at, the one with most weight.

    Marks and full stops are left out unless there is nothing else. Where no query is known, it is the strongest link.
    """
    if not 0 <= view.token < len(view.query_tokens):
        return strongest_link(view)
    row = np.where(view.masked[view.token], -1.0, view.weights[view.token])
    words = np.where(rests(view), -1.0, row)
    return view.token, int((words if words.max() > 0 else row).argmax())


def rests(view: AttentionView) -> NDArray[np.bool_]:
    """Bool `[key]`: where heads rest that find nothing to add, the column of what is not shown among them."""
    return np.array([token is NOT_SHOWN or is_resting_place(token) for token in view.key_tokens], dtype=np.bool_)


def named(token: Token) -> str:
    """A token as sentences name it, whole; blanks have a name too."""
    return token.text.strip() or label(token)


def read_out(view: AttentionView) -> str:
    """One sentence about one word: whom it gives how much, where, and what went to marks and full stops."""
    query, key = link_to_read(view)
    said = wording(view)
    template = said.itself if own_keys(view)[query] == key else said.gives
    giver, taker = named(view.query_tokens[query]), named(view.key_tokens[key])
    filled = {"from": giver, "to": taker, "share": percent(float(view.weights[query, key]))}
    missing = float(np.where(view.masked[query], 0, view.weights[query])[rests(view)].sum())
    rest = said.rest if missing >= _LEAST_SAID and not rests(view)[key] else ""
    return f"{template.format(**filled)}{rest.format(share=percent(missing))}."


def why_here(view: AttentionView) -> str:
    """Why a reader opens on this head, in a sentence; empty for any other head."""
    if not view.telling:
        return ""
    word = named(view.query_tokens[link_to_read(view)[0]])
    return f"None of the other {view.layers * view.heads - 1} heads gives so much of “{word}” to one content word."
