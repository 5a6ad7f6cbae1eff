"""Bars for probabilities, and the direction in which a text is written."""

import html
import unicodedata
from collections.abc import Iterable

from demo.plots.reading import percent
from models.outputs.base import Prediction

_FROM_THE_LEFT, _FROM_THE_RIGHT = ("L",), ("R", "AL")


def direction(text: str) -> str:
    """The value of `dir` for a text: the direction of its first letter that has one, as browsers do for `dir="auto"`.

    Browsers skip text in `<bdi>`, so where each word has a `<bdi>` of its own the direction must be found here.
    """
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in _FROM_THE_LEFT + _FROM_THE_RIGHT:
            return "ltr" if kind in _FROM_THE_LEFT else "rtl"
    return "ltr"


def bars(predictions: Iterable[Prediction], name: str, *, winner: str = "", long: bool = False) -> str:
    """An ordered list with one bar per prediction, whose score is a share of one.

    `winner` is set in bold; `long` names stand above their bars, not beside them.
    """
    rows = "".join(
        f'<li{_strong(each.text == winner)}><span class="bar-name"><bdi>{html.escape(each.text) or "∅"}</bdi></span>'
        f'<span class="bar-track" aria-hidden="true"><span style="width:{100 * each.score:.2f}%"></span></span>'
        f'<span class="bar-number">{percent(each.score)}</span></li>'
        for each in predictions
    )
    return f'<ol class="bars{" long" if long else ""}" aria-label="{html.escape(name)}">{rows}</ol>'


def _strong(wins: bool) -> str:
    return ' class="wins"' if wins else ""
