"""Tables as HTML, and the line that unfolds one below its picture."""

import html
from collections.abc import Iterable, Sequence

from demo.plots.template import label
from models.outputs.base import Token

KEEP_OPEN = """
let open = false;
element.addEventListener('toggle', (event) => { open = event.target.open; }, true);
watch('value', () => { const table = element.querySelector('.as-table'); if (table) table.open = open; });
"""
"""JavaScript for the page: a table that was unfolded stays so when its picture is drawn anew."""


def framed(shown: str, name: str, kind: str = "") -> str:
    """A table in a frame that scrolls by itself where it is too wide; `name` is read out for the frame."""
    classes = f"table-frame {kind}".strip()
    return f'<div class="{classes}" role="region" aria-label="{name}" tabindex="0">{shown}</div>'


def fold_out(summary: str, table: str, name: str, more: str = "") -> str:
    """A table in a frame under a line that unfolds it; `more` is HTML below the frame."""
    return f'<details class="as-table"><summary>{summary}</summary>{framed(table, name)}{more}</details>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML or whole elements; the first cell of a row is its header unless it is a `<td>`."""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = ""
    for first, *rest in rows:
        name = first if first.startswith("<td") else f'<th scope="row">{first}</th>'
        cells = "".join(each if each.startswith(("<td", "<th")) else f"<td>{each}</td>" for each in rest)
        body += f"<tr>{name}{cells}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def named(token: Token) -> str:
    """A token's name in a table, as HTML."""
    return f"<bdi>{html.escape(label(token))}</bdi>"
