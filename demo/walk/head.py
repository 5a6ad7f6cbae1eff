"""Step 3: queries, keys and values of one head, and softmax on numbers that a visitor types."""

from collections.abc import Callable
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from demo.events import QUICK, for_visitors
from demo.plots.reading import percent
from demo.plots.walk import strip_top
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, distance, few, fold_out, named, number, strip, table
from demo.walk.view import InsideRequest, look_at_source
from demo.widgets import Updates
from demo.widgets.notice import create_notice, noticed
from models.errors import InputError
from models.inside.formulas import shares
from models.inside.outputs import Look

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


WorkOut = Callable[[str, float], str]
"""From the scores as they were typed and the number beside them to a table; raises `InputError`."""


def create_own_numbers(
    scores: gr.Textbox, beside: gr.Slider, work_out: WorkOut, label: str, examples: dict[str, list[Any]] | None = None
) -> gr.HTML:
    """The place of the table, drawn anew when its fields are done with or one of `examples` is chosen.

    A sentence says what is wrong with the scores, and what was worked out last stays.
    """
    notice = create_notice()
    tried = None
    if examples:
        tried = gr.Examples(
            list(examples.values()),
            [scores, beside],
            example_labels=list(examples),
            label="Examples",
            api_visibility="private",
        ).load_input_event
    shown = gr.HTML(work_out(scores.value, beside.value), elem_classes="worked", label=label)

    def draw(typed: str, number: float) -> Updates:
        try:
            return {shown: work_out(typed, number), notice: noticed("")}
        except InputError as error:
            return {notice: noticed(error.sentence)}

    drawing = (for_visitors(draw), [scores, beside], [shown, notice])
    gr.on([scores.submit, scores.blur, beside.input], *drawing, trigger_mode="always_last", **QUICK)
    if tried is not None:
        tried.then(*drawing, **QUICK)
    return shown


_TEXT = (
    "In each layer several <em>heads</em> look through the text side by side. A head turns every token’s vector into "
    "three shorter ones, by tables of numbers that it has learned: a <em>query</em> (what the token looks for), a "
    "<em>key</em> (what it can be found by) and a <em>value</em> (what it hands on). The chosen token’s query is "
    "multiplied with every key, number by number, and added up: the <em>dot product</em>, a score. It is divided by "
    "√d<sub>k</sub> (d<sub>k</sub>: how many numbers a key has), so that long vectors do not make great scores. "
    "<em>Softmax</em> turns the scores into shares that add up to one: e to the power of each, over the sum of all. "
    "What comes out is the sum of the values, each times its share."
)
_SHOWN_NUMBERS = 4
_EXAMPLES = {"Thinking, Machines": ["112 96", 64], "the same, not divided": ["112 96", 1], "four keys": ["2 1 0 -1", 4]}


def _create(controls: InsideControls) -> BuiltStep:
    finding = gr.HTML("", elem_classes="inside-finding", label="What the token looks at")
    picture = gr.HTML("", elem_classes=["inside-picture", "room-1"], label="Query, keys and values")
    numbers = gr.HTML("", js_on_load=KEEP_OPEN, elem_classes="inside-numbers", label="The numbers")
    gr.HTML("<h3>Work it out with numbers of your own</h3>", label="Your own numbers")
    with gr.Row(elem_classes="settings"):
        scores = gr.Textbox(
            "112 96", label="Scores", info="of one query with each key; Enter works them out", max_lines=1
        )
        width = gr.Slider(1, 128, 64, step=1, label="d_k", info="how many numbers a key has")
    create_own_numbers(scores, width, worked_row, "Softmax of your scores", _EXAMPLES)

    def draw(request: InsideRequest) -> Updates:
        seen = look_at_source(controls.inside, request)
        return {finding: head_said(seen), picture: head_picture(seen), numbers: head_table(seen)}

    return BuiltStep(draw, [finding, picture, numbers])


def head_said(seen: Look) -> str:
    """A sentence on the token that gets most weight, and that these are the model's own numbers."""
    head, place = seen.numbers, seen.position
    row = head.weights[place]
    best = int(row.argmax())
    return (
        f'<p class="read-out" aria-live="polite">In layer {seen.layer + 1}, head {seen.head + 1}, '
        f"“{named(seen.tokens[place])}” gives {percent(float(row[best]))} of its weight to "
        f"“{named(seen.tokens[best])}”.</p>"
        f'<p class="quiet">Checked against the model for every token: weights and sums that are worked out here differ '
        f"from its own by {distance(head.deviation)}.</p>"
    )


def head_picture(seen: Look) -> str:
    """The query on top, a row for each key with its score, share and value, and the sum below; orange is minus."""
    head, place = seen.numbers, seen.position
    top = strip_top(head.queries[place], head.keys)
    value_top = strip_top(head.values)
    name = named(seen.tokens[place])
    rows = "".join(
        f'<li class="{"hidden-key" if head.masked[place, key] else ""}{" followed" if key == place else ""}">'
        f'<span class="qkv-name">{named(token)}</span>{strip(head.keys[key], top)}'
        f'<span class="qkv-number">{number(float(head.scores[place, key]), 1)}</span>'
        f'<span class="qkv-number">{_scaled(seen, key)}</span>'
        f'<span class="qkv-share"><span class="bar-track"><span style="width:{100 * head.weights[place, key]:.1f}%">'
        f"</span></span>{percent(float(head.weights[place, key]))}</span>"
        f"{strip(head.values[key], value_top)}</li>"
        for key, token in enumerate(seen.tokens)
    )
    return (
        '<div class="qkv" role="img" aria-label="Query, keys and values as strips of colour; the table below has the '
        f'numbers"><div class="qkv-end"><span>query of “{name}”</span>{strip(head.queries[place], top)}</div>'
        '<div class="qkv-heads"><span>token</span><span>its key</span><span>score</span>'
        f"<span>÷ {head.divisor:.2f}</span><span>share</span><span>its value</span></div>"
        f'<ol>{rows}</ol><div class="qkv-end"><span>what “{name}” receives</span>'
        f"{strip(head.outputs[place], strip_top(head.outputs[place]))}</div></div>"
        '<p class="quiet">A strip has a stripe for each number of a vector: orange below zero, blue above.</p>'
    )


def head_table(seen: Look) -> str:
    """Every token's key, score, divided score, share and value, and the sum."""
    head, place = seen.numbers, seen.position
    rows = [
        (
            named(token),
            few(head.keys[key], _SHOWN_NUMBERS),
            number(float(head.scores[place, key]), 3),
            _scaled(seen, key, 3),
            number(float(head.weights[place, key]), 4),
            few(head.values[key], _SHOWN_NUMBERS),
        )
        for key, token in enumerate(seen.tokens)
    ]
    rows.append(("sum", "", "", "", "1.0000", few(head.outputs[place], _SHOWN_NUMBERS)))
    heads = ("token", "key", "query · key", f"÷ √{head.width}", "softmax", "value")
    said = (
        f"query of “{named(seen.tokens[place])}”: {few(head.queries[place], 2 * _SHOWN_NUMBERS)} ({head.width} numbers)"
    )
    return fold_out(
        f"The numbers as a table, of each vector the first {_SHOWN_NUMBERS} of {head.width}",
        f"<p>{said}</p>{table(heads, rows)}",
        "Keys, scores, shares and values",
    )


def _scaled(seen: Look, key: int, digits: int = 2) -> str:
    """The divided score of the followed token with a key, −∞ where it may not look."""
    hidden = bool(seen.numbers.masked[seen.position, key])
    return "−∞" if hidden else number(float(seen.numbers.scaled[seen.position, key]), digits)


HEAD = WalkStep(3, "head", "Queries, keys, values", _TEXT, _create, uses=frozenset({"layer", "head", "position"}))
