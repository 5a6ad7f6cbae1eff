"""What stands beside a picture of attention: what the head does, what to beware of, and the numbers as a table."""

import html

from demo.components.attention_table import attention_table
from demo.plots.heatmap import DRAWN_WHOLE
from demo.plots.roles import said_role
from demo.plots.shown import MOST_SHOWN, NOT_SHOWN
from demo.plots.view import AttentionView
from models.outputs import HeadRole

_HATCHED = "Hatched: masked. A model that writes may not look at what comes later."
_ROLLOUT = (
    "Rollout follows the weights from layer to layer, and counts that each layer keeps half of what stood there before "
    "(Abnar and Zuidema, 2020)."
)
_MAXIMUM = "Each cell shows the head that looks hardest, so a row may add up to more than 100&nbsp;%."
_NOT_SHOWN = "The column “not shown” holds what goes to tokens that are not in the picture."
_LEFT_OUT = f"The text is too long to be shown whole: the pictures have its first {MOST_SHOWN} words or tokens."
_UNKNOWN = (
    "“{}” stands for something in the text that this model has no token for, such as an emoji: all such things look "
    "alike to it."
)
_CHOSEN = (
    "This head was opened because it gives most to one content word. Left aside are marks, full stops and small words "
    "such as “of”, the first word of a text without marks, and heads that look at the neighbouring token everywhere."
)
_CLOSER = ", drag over an area to come closer, double-click to go back"
_CAUTION = (
    "Attention is not an explanation: it shows where numbers flow, not why the answer is what it is. Full stops, first "
    "words and the marks [CLS] and [SEP] around a text often collect weight that no word needs."
)


def said(view: AttentionView, role: HeadRole | None, live: bool = True) -> str:
    """The text beside the picture of `view`; `live` is whether visitors can choose another head and come closer."""
    tokens = max(len(view.query_tokens), len(view.key_tokens))
    notes = [
        _CHOSEN if view.telling else "",
        _HATCHED if view.masked.any() else "",
        {"rollout": _ROLLOUT, "maximum": _MAXIMUM}.get(view.how, ""),
        *(html.escape(_UNKNOWN.format(piece)) for piece in _unknown(view)),
        _NOT_SHOWN if view.key_tokens[-1] is NOT_SHOWN else "",
        _LEFT_OUT if tokens > MOST_SHOWN else "",
        f"{tokens} are more than {DRAWN_WHOLE}, so only some are named on the axes; point at a cell to read its words"
        f"{_CLOSER if live else ''}."
        if tokens > DRAWN_WHOLE
        else "",
    ]
    does = f'<p class="head-role">{said_role(role)}</p>' if live or role else ""
    remarks = "".join(f'<p class="quiet">{note}</p>' for note in notes if note)
    return f'{does}{remarks}<p class="quiet">{_CAUTION}</p>{attention_table(view)}'


def _unknown(view: AttentionView) -> list[str]:
    """How each piece that is unknown is spelt, once."""
    return list(dict.fromkeys(token.text for token in (*view.query_tokens, *view.key_tokens) if token.is_unknown))
