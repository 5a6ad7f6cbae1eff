"""Attention as a table, for screen readers and for whoever wants the numbers."""

import html

import numpy as np

from demo.plots.reading import percent
from demo.plots.template import label
from demo.plots.view import AttentionView
from demo.widgets.tables import folded_table
from models.outputs import Token

KEEP_OPEN = """
let open = false;
element.addEventListener('toggle', (event) => { open = event.target.open; }, true);
watch('value', () => { const table = element.querySelector('.as-table'); if (table) table.open = open; });
"""
"""Run in the page: a table that was unfolded stays so when its picture is drawn anew."""

_WHOLE_COLUMNS = 12
_STRONGEST = ("most to", "then to", "then to")
_MOST_ROWS = 128


def attention_table(view: AttentionView) -> str:
    """The numbers of `view`, folded away; a row is a query, as in the picture."""
    keys = list(map(named, view.key_tokens))
    weights = np.where(view.masked, -1.0, view.weights)[:_MOST_ROWS]
    if len(keys) <= _WHOLE_COLUMNS:
        heads = ["From \\ to", *keys]
        cells = [[percent(weight) if weight >= 0 else "masked" for weight in row] for row in weights.tolist()]
    else:
        heads = ["From", *_STRONGEST]
        order = np.argsort(-weights, axis=1, kind="stable")[:, : len(_STRONGEST)]
        cells = [
            [f"{keys[key]} {percent(float(row[key]))}" if row[key] >= 0 else "" for key in strongest]
            for row, strongest in zip(weights, order, strict=True)
        ]
    rows = [[named(token), *row] for token, row in zip(view.query_tokens, cells, strict=False)]
    left_out = len(view.query_tokens) - _MOST_ROWS
    more = f'<p class="quiet">The first {_MOST_ROWS} rows; {left_out} more are not listed.</p>' if left_out > 0 else ""
    return folded_table("Attention as a table", heads, rows, more)


def named(token: Token) -> str:
    """A token's label as HTML."""
    return f"<bdi>{html.escape(label(token))}</bdi>"
