"""The numbers behind a picture, folded away below it."""

from collections.abc import Iterable, Sequence


def fold_out(summary: str, table: str, name: str) -> str:
    """A table in a frame of its own, which scrolls, under a line that unfolds it; `name` is read out for the frame."""
    return (
        f'<details class="as-table"><summary>{summary}</summary>'
        f'<div class="table-frame" role="region" aria-label="{name}" tabindex="0">{table}</div></details>'
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML already; the first cell of a row names it."""
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
