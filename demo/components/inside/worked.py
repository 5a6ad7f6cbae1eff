"""Softmax worked out on numbers that a visitor types: the lecture's own to begin with."""

import numpy as np
from numpy.typing import NDArray

from demo.components.inside.numbers import table
from demo.components.inside.strip import number
from models.errors import InputError
from models.inside.formulas import shares

_MOST_ROWS = 8
_GREATEST = 10_000.0


def scores_of(text: str, square: bool) -> NDArray[np.float32]:
    """The numbers that `text` has, a row in each line; raises `InputError` for what are none.

    `square` asks for as many rows as columns, otherwise for one row.
    """
    lines = [line.replace(",", " ").split() for line in str(text).strip().splitlines() if line.strip()]
    try:
        rows = [[float(each) for each in line] for line in lines]
    except ValueError:
        raise InputError("Please write numbers with spaces between them, such as 112 96.", "scores") from None
    if not rows or len(rows) > _MOST_ROWS or len({len(row) for row in rows}) > 1 or len(rows[0]) > _MOST_ROWS:
        raise InputError(f"Please write the same number of scores in each line, at most {_MOST_ROWS}.", "scores")
    if square and len(rows) != len(rows[0]):
        raise InputError(
            "Please write as many lines as there are scores in each, so that they make a square.", "scores"
        )
    if not square and len(rows) != 1:
        raise InputError("Please write all scores in one line.", "scores")
    if not all(abs(each) <= _GREATEST for row in rows for each in row):
        raise InputError(f"Please write numbers from −{_GREATEST:,.0f} to {_GREATEST:,.0f}.", "scores")
    return np.array(rows, dtype=np.float32)


def worked_row(text: str, width: float) -> str:
    """One query's scores, divided by √`width`, and their softmax, as a table with a column for each key."""
    scores = scores_of(text, square=False)[0]
    scaled, weights = shares(scores, float(np.sqrt(width)))
    rows = [
        ("score", *(number(float(each), 2) for each in scores)),
        (f"÷ √{width:g} = {number(float(np.sqrt(width)), 2)}", *(number(float(each), 2) for each in scaled)),
        ("softmax", *(number(float(each), 2) for each in weights)),
    ]
    return framed(table(["", *(f"key {place}" for place in range(1, len(scores) + 1))], rows), "Softmax of your scores")


def worked_square(text: str, divisor: float) -> str:
    """A square of scores divided by `divisor`, with −∞ above the diagonal, and the softmax of each row."""
    scores = scores_of(text, square=True)
    masked = np.triu(np.ones(scores.shape, dtype=bool), k=1)
    scaled, weights = shares(scores, divisor, masked)
    hidden = np.where(masked, -np.inf, scaled)
    heads = ["", *(f"to {place}" for place in range(1, len(scores) + 1))]

    def square(title: str, values: NDArray[np.float32], digits: int) -> str:
        rows = [
            (f"from {place}", *(number(float(each), digits) for each in row)) for place, row in enumerate(values, 1)
        ]
        return f"<section><h4>{title}</h4>{framed(table(heads, rows), title)}</section>"

    return (
        '<div class="worked-squares">'
        + square("scores", scores, 2)
        + square(f"÷ {divisor:g}, −∞ for what comes later", hidden, 3)
        + square("softmax of each row", weights, 2)
        + "</div>"
    )


def framed(shown: str, name: str) -> str:
    """A table in a frame that scrolls by itself where it is too wide."""
    return f'<div class="table-frame" role="region" aria-label="{name}" tabindex="0">{shown}</div>'
