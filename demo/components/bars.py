"""Candidates as bars: a name, a length and a number, readable as a list."""

import html
from collections.abc import Iterable

from demo.plots.reading import percent
from models.outputs import Prediction


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
