"""Attention as a table, for screen readers and for whoever wants the numbers."""

import html

import numpy as np

from demo.plots.reading import percent
from demo.plots.template import label
from demo.plots.view import AttentionView
from models.outputs import Token

KEEP_OPEN = """
let open = false;
element.addEventListener('toggle', (event) => { open = event.target.open; }, true);
watch('value', () => { const table = element.querySelector('.as-table'); if (table) table.open = open; });
"""
"""Run in the page: a table that was unfolded stays so when its picture is drawn anew."""

_WHOLE_COLUMNS = 12
_STRONGEST = 3
_MOST_ROWS = 128


def attention_table(view: AttentionView) -> str:
    """The numbers of `view`, folded away; a row is a query, as in the picture."""
    table = _whole(view) if len(view.key_tokens) <= _WHOLE_COLUMNS else _strongest(view)
    left_out = len(view.query_tokens) - _MOST_ROWS
    more = f'<p class="quiet">The first {_MOST_ROWS} rows; {left_out} more are not listed.</p>' if left_out > 0 else ""
    return (
        '<details class="as-table"><summary>The same as a table</summary>'
        f'<div class="table-frame" role="region" aria-label="Attention as a table" tabindex="0">{table}</div>'
        f"{more}</details>"
    )


def _whole(view: AttentionView) -> str:
    heads = "".join(f'<th scope="col">{_named(token)}</th>' for token in view.key_tokens)
    rows = "".join(
        f'<tr><th scope="row">{_named(token)}</th>'
        + "".join(
            f"<td>{'masked' if hidden else percent(float(weight))}</td>"
            for weight, hidden in zip(weights, masked, strict=True)
        )
        + "</tr>"
        for token, weights, masked in zip(view.query_tokens[:_MOST_ROWS], view.weights, view.masked, strict=False)
    )
    return f'<table><thead><tr><th scope="col">From \\ to</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _strongest(view: AttentionView) -> str:
    weights = np.where(view.masked, -1.0, view.weights)[:_MOST_ROWS]
    order = np.argsort(-weights, axis=1, kind="stable")[:, :_STRONGEST]
    rows = "".join(
        f'<tr><th scope="row">{_named(token)}</th>'
        + "".join(
            f"<td>{_named(view.key_tokens[key])} {percent(float(row[key]))}</td>" if row[key] >= 0 else "<td></td>"
            for key in keys
        )
        + "</tr>"
        for token, row, keys in zip(view.query_tokens, weights, order, strict=False)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("From", "most to", "then to", "then to"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _named(token: Token) -> str:
    return f"<bdi>{html.escape(label(token))}</bdi>"
