"""Parts of steps 3 and 4: softmax worked out on a visitor's own numbers, for one query or a square of scores."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
import numpy as np

from demo import language
from demo.events import QUICK, for_visitors
from demo.language import _
from demo.walk.step import number, numbers
from demo.widgets import Updates
from demo.widgets.notice import create_notice, noticed
from demo.widgets.tables import framed, table
from models.errors import InputError
from models.inside.formulas import shares
from models.inside.outputs import Numbers

_MOST_ROWS = 8
_GREATEST = 10_000.0


def create_own_numbers(
    scores: gr.Textbox,
    beside: gr.Slider,
    work_out: Callable[[str, float], str],
    name: str,
    examples: Mapping[str, list[Any]],
) -> None:
    """Create a table that `work_out` redraws when `scores` is submitted or left, `beside` moves or an example is set.

    Invalid scores leave the last table in place, and a sentence says what is wrong with them.
    """
    notice = create_notice()
    tried = gr.Examples(
        list(examples.values()),
        [scores, beside],
        example_labels=[_(each) for each in examples],
        label=_("Examples"),
        api_visibility="private",
    )
    shown = gr.HTML(work_out(scores.value, beside.value), elem_classes="worked", label=name)

    def draw(typed: str, number: float) -> Updates:
        try:
            return {shown: work_out(typed, number), notice: noticed("")}
        except InputError as error:
            return {notice: noticed(_(error.sentence))}

    drawing = (for_visitors(draw), [scores, beside], [shown, notice])
    gr.on([scores.submit, scores.blur, beside.input], *drawing, trigger_mode="always_last", **QUICK)
    tried.load_input_event.then(*drawing, **QUICK)


def worked_row(text: str, width: float) -> str:
    """One query's scores, divided by √`width`, and their softmax, as a table with a column for each key."""
    scores, root = _scores_of(text, square=False)[0], float(np.sqrt(width))
    scaled, weights = shares(scores, root)
    rows = [
        (_("score"), *numbers(scores, 2)),
        (f"÷ √{language.number(width, 'g')} = {number(root, 2)}", *numbers(scaled, 2)),
        (_("softmax"), *numbers(weights, 2)),
    ]
    heads = ["", *(_("key {place}", place=place) for place in range(1, len(scores) + 1))]
    return framed(table(heads, rows), _("Softmax of your scores"))


def worked_square(text: str, divisor: float) -> str:
    """A square of scores divided by `divisor`, with −∞ above the diagonal, and the softmax of each row."""
    scores = _scores_of(text, square=True)
    masked = np.triu(np.ones(scores.shape, dtype=bool), k=1)
    scaled, weights = shares(scores, divisor, masked)
    heads = ["", *(_("to {place}", place=place) for place in range(1, len(scores) + 1))]
    shown: list[tuple[str, Numbers, int]] = [
        (_("scores"), scores, 2),
        (_("÷ {divisor:g}, −∞ for what comes later", divisor=divisor), np.where(masked, -np.inf, scaled), 3),
        (_("softmax of each row"), weights, 2),
    ]
    squares = (
        (title, [(_("from {place}", place=place), *numbers(row, digits)) for place, row in enumerate(values, 1)])
        for title, values, digits in shown
    )
    sections = (f"<section><h4>{title}</h4>{framed(table(heads, rows), title)}</section>" for title, rows in squares)
    return f'<div class="worked-squares">{"".join(sections)}</div>'


def _scores_of(text: str, square: bool) -> Numbers:
    """The scores in `text`, one row per line; raises `InputError` for bad, too great, too many or ragged numbers.

    With `square` there must be as many rows as columns, otherwise a single row.
    """
    if number(0.5, 1) == "0,5":
        # This language writes a decimal comma.
        text = re.sub(r"(?<=\d),(?=\d)", ".", str(text))
    lines = [line.replace(",", " ").split() for line in str(text).strip().splitlines() if line.strip()]
    try:
        rows = [[float(each) for each in line] for line in lines]
    except ValueError:
        raise InputError(_("Please write numbers with spaces between them, such as 112 96."), "scores") from None
    if not rows or len(rows) > _MOST_ROWS or len({len(row) for row in rows}) > 1 or len(rows[0]) > _MOST_ROWS:
        raise InputError(
            _("Please write the same number of scores in each line, at most {most}.", most=_MOST_ROWS), "scores"
        )
    if square and len(rows) != len(rows[0]):
        raise InputError(
            _("Please write as many lines as there are scores in each, so that they make a square."), "scores"
        )
    if not square and len(rows) != 1:
        raise InputError(_("Please write all scores in one line."), "scores")
    if not all(abs(each) <= _GREATEST for row in rows for each in row):
        raise InputError(_("Please write numbers from −{most:,.0f} to {most:,.0f}.", most=_GREATEST), "scores")
    return np.array(rows, dtype=np.float32)
