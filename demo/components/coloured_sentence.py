"""The text itself, token by token; the one that is pointed at colours the others by the weight it gives or receives."""

import base64
import html
from collections.abc import Sequence

import numpy as np

from demo.components.direction import direction
from demo.page import ASSETS
from demo.plots.reading import link_to_read, named, percent, read_out, scale_top, why_here, wording
from demo.plots.shown import NOT_SHOWN, is_resting_place, own_keys
from demo.plots.view import AttentionView
from models.outputs import Token

_MASKED, _WHOLE = 65535, 65534
_HOW_TO = "Point at a word or tap it."


def colouring() -> str:
    """Run in the page: decodes the weights and does the colouring, without a round trip to the server."""
    return (ASSETS / "scripts" / "coloured_sentence.js").read_text(encoding="utf-8")


def coloured_sentence(view: AttentionView) -> str:
    """The tokens of `view` as buttons, and its weights as little-endian uint16 `[query, key]` in base64.

    A weight of one is 65534; 65535 marks what may not be looked at. Two texts stand one below the other. Below them
    one sentence reads out one word; the page's script fills its templates anew for every word that is chosen.
    """
    levels = np.where(view.masked, _MASKED, np.rint(np.clip(view.weights, 0, 1) * _WHOLE)).astype("<u2")
    top = scale_top(view)
    said = wording(view)
    data = {
        "weights": base64.b64encode(levels.tobytes()).decode("ascii"),
        "columns": len(view.key_tokens),
        "top": f"{top:.6f}",
        "start": link_to_read(view)[0],
        "layer": view.layer,
        "head": view.head,
        "gives": said.gives,
        "itself": said.itself,
        "gets": said.gets,
        "rest": said.rest,
    }
    attributes = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    why = why_here(view)
    reason = f' <span class="quiet why">{html.escape(why)}</span>' if why else ""
    line = f"<span>{html.escape(read_out(view))}</span>{reason}"
    return (
        f'<div class="sentence"{attributes}{" data-two-texts" if view.two_texts else ""}>'
        f'<div class="sentence-head"><p class="quiet">{_HOW_TO}</p>{_legend(top)}{_direction(view)}</div>'
        f'{_texts(view)}<p class="read-out pointed" role="status">{line}</p></div>'
    )


def _texts(view: AttentionView) -> str:
    rest = view.key_tokens[-1] is NOT_SHOWN
    keys = view.key_tokens[:-1] if rest else view.key_tokens
    unseen = (
        f'<span class="word rest" data-key="{len(keys)}" data-rest data-name="{NOT_SHOWN.text}">{NOT_SHOWN.text}</span>'
        if rest
        else ""
    )
    if not view.two_texts:
        own = own_keys(view)
        words = "".join(_word(token, place, own[place]) for place, token in enumerate(view.query_tokens))
        return _text("The text", view.query_tokens, words + unseen)
    written = "".join(_word(token, place, None) for place, token in enumerate(view.query_tokens))
    read = "".join(_word(token, None, place) for place, token in enumerate(keys))
    return (
        f"<h3>What it wrote</h3>{_text('What it wrote', view.query_tokens, written)}"
        f"<h3>What it read</h3>{_text('What it read', keys, read + unseen)}"
    )


def _text(name: str, tokens: Sequence[Token], words: str) -> str:
    way = direction("".join(token.text for token in tokens if not token.special))
    return (
        f'<div class="words" dir="{way}" role="group" aria-label="{name}: choose a word to see what it looks at">'
        f"{words}</div>"
    )


def _word(token: Token, query: int | None, key: int | None) -> str:
    places = "".join(f' data-{axis}="{place}"' for axis, place in (("query", query), ("key", key)) if place is not None)
    places += " data-rests" if is_resting_place(token) else ""
    text = named(token)
    return (
        f'<button type="button" class="word" data-token{places} data-name="{html.escape(text)}" aria-pressed="false">'
        f"<bdi>{html.escape(text)}</bdi></button>"
    )


def _direction(view: AttentionView) -> str:
    if view.two_texts:
        return ""
    return (
        '<div class="switch" role="group" aria-label="What the colours show">'
        '<button type="button" data-direction="gives" aria-pressed="true">gives</button>'
        '<button type="button" data-direction="receives" aria-pressed="false">receives</button></div>'
    )


def _legend(top: float) -> str:
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(8))
    scale = f'<span>0</span><span aria-hidden="true">{steps}</span><span>{percent(top)} or more</span>'
    return f'<p class="legend">{scale}</p>'
