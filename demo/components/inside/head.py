"""Step 3: one token's query against every key, what softmax makes of it, and the values it brings together."""

import gradio as gr

from demo.components import Updates
from demo.components.attention_table import KEEP_OPEN
from demo.components.inside.numbers import fold_out, table
from demo.components.inside.own_numbers import create_own_numbers
from demo.components.inside.step import BuiltStep, InsideControls, Step
from demo.components.inside.strip import distance, few, named, number, strip
from demo.components.inside.worked import worked_row
from demo.inside_look import look_at_source
from demo.inside_request import InsideRequest
from demo.plots.inside_strips import strip_top
from demo.plots.reading import percent
from models.inside.outputs import Look

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
    """What the token gives most of its weight to, and that these are the model's own numbers."""
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


HEAD = Step(3, "head", "Queries, keys, values", _TEXT, _create, uses=frozenset({"layer", "head", "position"}))
