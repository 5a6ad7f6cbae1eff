"""An answer before and after a change, side by side, with what differs marked."""

import html
from collections.abc import Sequence
from difflib import SequenceMatcher

from demo.plots.change import ShareChange, share_changes, what_changed, written
from demo.plots.reading import percent
from models.outputs import TaskOutput


def compared(before: TaskOutput, after: TaskOutput, said: str) -> str:
    """What changed in a sentence, then both answers; `said` is what the second one was given."""
    finding = f'<p class="read-out" role="status">{html.escape(what_changed(before, after))}</p>'
    changes = share_changes(before, after)
    name = f"With {said}"
    return finding + (_shares(changes, name) if changes else _texts(written(before), written(after), name))


def side_by_side(first: str, second: str, names: tuple[str, str]) -> str:
    """Two texts in columns, the words of each that the other has not in `<mark>`."""
    words = first.split(" "), second.split(" ")
    blocks = SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks()
    shared = (
        {block.a + offset for block in blocks for offset in range(block.size)},
        {block.b + offset for block in blocks for offset in range(block.size)},
    )
    sides = "".join(
        f"<section><h4>{html.escape(name)}</h4><p class='written'><bdi>{_marked(text, same)}</bdi></p></section>"
        for name, text, same in zip(names, words, shared, strict=True)
    )
    return f'<div class="columns forked compared">{sides}</div>'


def _texts(before: str, after: str, name: str) -> str:
    return side_by_side(before, after, ("Before", name))


def _marked(words: Sequence[str], same: set[int]) -> str:
    """The words with spaces between them, runs of those that are not the `same` marked."""
    text, marking = "", False
    for place, word in enumerate(words):
        differs = place not in same
        text += ("</mark>" if marking and not differs else "") + (" " if place else "")
        text += ("<mark>" if differs and not marking else "") + html.escape(word)
        marking = differs
    return text + ("</mark>" if marking else "")


def _shares(changes: Sequence[ShareChange], name: str) -> str:
    """A table for each blank, the candidates down and both shares across."""
    tables = []
    blanks = sorted({change.blank for change in changes})
    for blank in blanks:
        rows = [change for change in changes if change.blank == blank]
        best = tuple(max(getattr(row, side) or 0.0 for row in rows) for side in ("before", "after"))
        caption = f"<caption>Blank {blank}</caption>" if len(blanks) > 1 else ""
        tables.append(
            f'<table class="step-table compared">{caption}<thead><tr><th scope="col"><span class="sr-only">'
            f'answer</span></th><th scope="col">Before</th><th scope="col">{html.escape(name)}</th></tr></thead>'
            f"<tbody>{''.join(_row(row, best) for row in rows)}</tbody></table>"
        )
    return "".join(tables)


def _row(row: ShareChange, best: tuple[float, ...]) -> str:
    text = f"<bdi>{html.escape(row.text) or '∅'}</bdi>"
    name = f"<mark>{text}</mark>" if row.before is None or row.after is None else text
    before = _cell(row.before, row.before == best[0])
    return f'<tr><th scope="row">{name}</th>{before}{_cell(row.after, row.after == best[1], _way(row))}</tr>'


def _way(row: ShareChange) -> str:
    """Up or down, where both shares are known and do not read alike."""
    if row.before is None or row.after is None or percent(row.before) == percent(row.after):
        return ""
    up = row.after > row.before
    return f"<span class='way' aria-label='{'more' if up else 'less'} than before'>{'▲' if up else '▼'}</span> "


def _cell(share: float | None, best: bool, way: str = "") -> str:
    if share is None:
        return "<td><span class='quiet'>not among them</span></td>"
    return (
        f"<td{' class=wins' if best else ''}><span class='step-number'>{way}{percent(share)}</span>"
        f"<span class='step-bar' aria-hidden='true'><span style='width:{100 * share:.2f}%'></span></span></td>"
    )
