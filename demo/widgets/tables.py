"""Tables as HTML, and the line that unfolds one below its picture."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML already; the first cell of a row names it."""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded_table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """A table that unfolds, in a frame that scrolls and is read out as `name`; `more` is HTML after it."""
    return (
        '<details class="as-table"><summary>The same as a table</summary><div class="table-frame" role="region" '
        f'aria-label="{name}" tabindex="0">{table(heads, rows)}</div>{more}</details>'
    )
