"""The text with its words coloured by attention, a sentence on what they show, and the weights as a table."""

import base64
import html
from collections.abc import Sequence

import numpy as np

from demo.language import N_, _, ngettext
from demo.plots.heatmap import DRAWN_WHOLE
from demo.plots.reading import link_to_read, named, percent, read_out, said_role, scale_top, why_here, wording
from demo.plots.view import MOST_SHOWN, NOT_SHOWN, AttentionView, is_resting_place, own_keys
from demo.widgets import tables
from demo.widgets.bars import direction
from demo.widgets.tables import fold_out, table
from models.outputs.attention import HeadRole
from models.outputs.base import Token

_MASKED, _WHOLE = 65535, 65534


def coloured_sentence(view: AttentionView) -> str:
    """The tokens of `view` as buttons, and its weights as little-endian uint16 `[query, key]` in base64.

    A weight of one is 65534; 65535 marks masked cells. Two texts stand one below the other. A sentence below them
    reads out one word; the page's script fills its templates for every word that is chosen.
    """
    levels = np.where(view.masked, _MASKED, np.rint(np.clip(view.weights, 0, 1) * _WHOLE)).astype("<u2")
    top = scale_top(view)
    data = {
        "weights": base64.b64encode(levels.tobytes()).decode("ascii"),
        "columns": len(view.key_tokens),
        "top": f"{top:.6f}",
        "start": link_to_read(view)[0],
        "layer": view.layer,
        "head": view.head,
        **wording(view),
    }
    attributes = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(8))
    why = why_here(view)
    reason = f' <span class="quiet why">{html.escape(why)}</span>' if why else ""
    return (
        f'<div class="sentence"{attributes}{" data-two-texts" if view.two_texts else ""}>'
        f'<div class="sentence-head"><p class="quiet">{_("Point at a word or tap it.")}</p>'
        f'<p class="legend"><span>0</span><span aria-hidden="true">{steps}</span>'
        f"<span>{_('{share} or more', share=percent(top))}</span></p>{'' if view.two_texts else _switch()}</div>"
        f"{_texts(view)}"
        f'<p class="read-out pointed" role="status"><span>{html.escape(read_out(view))}</span>{reason}</p></div>'
    )


def _switch() -> str:
    return (
        f'<div class="switch" role="group" aria-label="{_("What the colours show")}">'
        f'<button type="button" data-direction="gives" aria-pressed="true">{_("gives")}</button>'
        f'<button type="button" data-direction="receives" aria-pressed="false">{_("receives")}</button></div>'
    )


def _texts(view: AttentionView) -> str:
    rest = named(NOT_SHOWN) if view.key_tokens[-1] is NOT_SHOWN else ""
    keys = view.key_tokens[:-1] if rest else view.key_tokens
    unseen = (
        f'<span class="word rest" data-key="{len(keys)}" data-rest data-name="{rest}">{rest}</span>' if rest else ""
    )
    if not view.two_texts:
        return _text(_("The text"), view.query_tokens, range(len(view.query_tokens)), own_keys(view), unseen)
    nowhere = [None] * max(view.weights.shape)
    looks, looked_at = {
        "a-b": (_("The first text looks"), _("at the second")),
        "b-a": (_("The second text looks"), _("at the first")),
    }.get(view.part, (_("What it wrote"), _("What it read")))
    return (
        f"<h3>{looks}</h3>"
        f"{_text(looks, view.query_tokens, range(len(view.query_tokens)), nowhere)}"
        f"<h3>{looked_at}</h3>{_text(looked_at, keys, nowhere, range(len(keys)), unseen)}"
    )


def _text(
    name: str, tokens: Sequence[Token], queries: Sequence[int | None], own: Sequence[int | None], more: str = ""
) -> str:
    """The `tokens` as buttons with their indices as query and as key (`own`), `None` for none; then the HTML `more`."""
    words = ""
    for token, query, key in zip(tokens, queries, own, strict=False):
        text = html.escape(named(token))
        places = "".join(f' data-{axis}="{at}"' for axis, at in (("query", query), ("key", key)) if at is not None)
        rests = " data-rests" if is_resting_place(token) else ""
        words += (
            f'<button type="button" class="word" data-token{places}{rests} data-name="{text}" aria-pressed="false">'
            f"<bdi>{text}</bdi></button>"
        )
    way = direction("".join(token.text for token in tokens if not token.special))
    choose = _("{text}: choose a word to see what it looks at", text=name)
    return f'<div class="words" dir="{way}" role="group" aria-label="{choose}">{words}{more}</div>'


_HATCHED = N_("Hatched: masked. A model that writes may not look at what comes later.")
_ROLLOUT = N_(
    "Rollout follows the weights from layer to layer, and counts that each layer keeps half of what stood there before "
    "(Abnar and Zuidema, 2020)."
)
_MAXIMUM = N_("Each cell shows the head that looks hardest, so a row may add up to more than 100&nbsp;%.")
_NOT_SHOWN = N_("The column “not shown” holds what goes to tokens that are not in the picture.")
_LEFT_OUT = N_("The text is too long to be shown whole: the pictures have its first {shown} words or tokens.")
_UNKNOWN = N_(
    "“{piece}” stands for something in the text that this model has no token for, such as an emoji: all such things "
    "look alike to it."
)
_CHOSEN = N_(
    "This head was opened because it gives most to one content word. Left aside are marks, full stops and small words "
    "such as “of”, the first word of a text without marks, and heads that look at the neighbouring token everywhere."
)
_CROSSING = N_(
    "Of what the words give, {other} crosses to words of the other sentence, {own} stays with words of their own, and "
    "{marks} rests on [CLS] and [SEP]."
)
_THINNED = N_("{tokens} are more than {named}, so only some are named on the axes; point at a cell to read its words.")
_CLOSER = N_(
    "{tokens} are more than {named}, so only some are named on the axes; point at a cell to read its words, drag over "
    "an area to come closer, double-click to go back."
)
_CAUTION = N_(
    "Attention is not an explanation: it shows where numbers flow, not why the answer is what it is. Full stops, first "
    "words and the marks [CLS] and [SEP] around a text often collect weight that no word needs."
)


def said(view: AttentionView, role: HeadRole | None, live: bool = True) -> str:
    """The text beside the picture of `view`; `live`: whether visitors can choose another head and zoom in."""
    tokens = max(len(view.query_tokens), len(view.key_tokens))
    unknown = dict.fromkeys(token.text for token in (*view.query_tokens, *view.key_tokens) if token.is_unknown)
    notes = [
        _(_CHOSEN) if view.telling else "",
        _(_HATCHED) if view.masked.any() else "",
        _({"rollout": _ROLLOUT, "maximum": _MAXIMUM}.get(view.how, "")),
        *(html.escape(_(_UNKNOWN, piece=piece)) for piece in unknown),
        _(_NOT_SHOWN) if view.key_tokens[-1] is NOT_SHOWN else "",
        _(_LEFT_OUT, shown=MOST_SHOWN) if tokens > MOST_SHOWN else "",
        _(_CLOSER if live else _THINNED, tokens=tokens, named=DRAWN_WHOLE) if tokens > DRAWN_WHOLE else "",
    ]
    crossing = ""
    if view.crossing:
        other, own, marks = map(percent, view.crossing)
        crossing = _(_CROSSING, other=other, own=own, marks=marks)
    does = crossing and f'<p class="crossing">{crossing}</p>'
    does += f'<p class="head-role">{said_role(role)}</p>' if live or role else ""
    remarks = "".join(f'<p class="quiet">{note}</p>' for note in notes if note)
    return f'{does}{remarks}<p class="quiet">{_(_CAUTION)}</p>{attention_table(view)}'


_WHOLE_COLUMNS = 12
_STRONGEST = (N_("most to"), N_("then to"), N_("then to"))
_MOST_ROWS = 128


def attention_table(view: AttentionView) -> str:
    """The weights of `view` as a folded table, a row per query as in the picture; of many keys only the strongest."""
    keys = list(map(tables.named, view.key_tokens))
    weights = np.where(view.masked, -1.0, view.weights)[:_MOST_ROWS]
    if len(keys) <= _WHOLE_COLUMNS:
        heads = [_("From \\ to"), *keys]
        cells = [[percent(weight) if weight >= 0 else _("masked") for weight in row] for row in weights.tolist()]
    else:
        heads = [_("From"), *map(_, _STRONGEST)]
        order = np.argsort(-weights, axis=1, kind="stable")[:, : len(_STRONGEST)]
        cells = [
            [f"{keys[key]} {percent(float(row[key]))}" if row[key] >= 0 else "" for key in strongest]
            for row, strongest in zip(weights, order, strict=True)
        ]
    rows = [[tables.named(token), *row] for token, row in zip(view.query_tokens, cells, strict=False)]
    left_out = len(view.query_tokens) - _MOST_ROWS
    more = ""
    if left_out > 0:
        unlisted = ngettext(
            "The first {rows} rows; {count} more is not listed.",
            "The first {rows} rows; {count} more are not listed.",
            left_out,
            rows=_MOST_ROWS,
        )
        more = f'<p class="quiet">{unlisted}</p>'
    return fold_out(_("The same as a table"), table(heads, rows), _("Attention as a table"), more)
