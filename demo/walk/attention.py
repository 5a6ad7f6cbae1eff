"""Steps 3 and 4 of the walk: queries, keys and values of a head; masking; softmax on a visitor's own scores."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component

from demo.language import N_, _, ngettext
from demo.plots.reading import percent
from demo.plots.walk import scores_matrix, shares_matrix, strip_top
from demo.walk.memory import create_memory
from demo.walk.own_numbers import create_own_numbers, worked_row, worked_square
from demo.walk.step import (
    BuiltStep,
    WalkStep,
    distance,
    few,
    number,
    numbers,
    place,
    plot,
    quiet,
    read_out,
    strip,
    track,
)
from demo.walk.turning import create_query_turn
from demo.walk.view import Inside, InsideRequest
from demo.widgets.figure import drawn
from demo.widgets.tables import fold_out, named, table
from models.inside.outputs import Look
from models.inside.tokens import FROM_THE_MODEL

_HEAD_TEXT = N_(
    "In each layer several <em>heads</em> look through the text side by side. A head turns every token’s vector into "
    "three shorter ones, by tables of numbers that it has learned: a <em>query</em> (what the token looks for), a "
    "<em>key</em> (what it can be found by) and a <em>value</em> (what it hands on). The chosen token’s query is "
    "multiplied with every key, number by number, and added up: the <em>dot product</em>, a score. It is divided by "
    "√d<sub>k</sub> (d<sub>k</sub>: how many numbers a key has), so that long vectors do not make great scores. "
    "<em>Softmax</em> turns the scores into shares that add up to one: e to the power of each, over the sum of all. "
    "What comes out is the sum of the values, each times its share."
)
_SHOWN_NUMBERS = 4
_ROWS = {
    N_("Thinking, Machines"): ["112 96", 64],
    N_("the same, not divided"): ["112 96", 1],
    N_("four keys"): ["2 1 0 -1", 4],
}


def _create_head(inside: Inside) -> BuiltStep:
    outputs: list[Component] = [
        place(_("What the token looks at"), "inside-finding"),
        place(_("Query, keys and values"), "inside-picture", "room-1"),
        place(_("The numbers"), "inside-numbers"),
    ]
    turn = create_query_turn(inside)
    gr.HTML(f"<h3>{_('Work it out with numbers of your own')}</h3>", label=_("Your own numbers"))
    with gr.Row(elem_classes="settings"):
        scores = gr.Textbox(
            "112 96", label=_("Scores"), info=_("of one query with each key; Enter works them out"), max_lines=1
        )
        width = gr.Slider(1, 128, 64, step=1, label="d_k", info=_("how many numbers a key has"))
    create_own_numbers(scores, width, worked_row, _("Softmax of your scores"), _ROWS)

    def draw(request: InsideRequest) -> Sequence[str]:
        seen = inside.look_at_source(request)
        return head_said(seen), head_picture(seen), head_table(seen)

    return BuiltStep(outputs, draw, turns=[turn])


def head_said(seen: Look) -> str:
    """HTML sentences on the key with the most weight, the kind of attention, and the deviation from the model."""
    row = seen.numbers.weights[seen.position]
    best = int(row.argmax())
    said = _(
        "In layer {layer}, head {head}, “{token}” gives {share} of its weight to “{other}”.",
        layer=seen.layer + 1,
        head=seen.head + 1,
        token=named(seen.tokens[seen.position]),
        share=percent(row[best]),
        other=named(seen.tokens[best]),
    )
    checked = _(
        "Checked against the model for every token: weights and sums that are worked out here differ from its own by "
        "{distance}.",
        distance=distance(seen.numbers.deviation),
    )
    return read_out(said) + quiet(" ".join([*_built_otherwise(seen), checked]))


def _built_otherwise(seen: Look) -> list[str]:
    """Sentences on rotary positions, grouped-query attention and local attention, where the model has them."""
    head, said = seen.numbers, []
    if head.rotary_base is not None:
        said.append(
            _(
                "Before they are multiplied, each query and key is <em>turned</em> by its token’s place in the text, "
                "two numbers at a time, by angles from a formula with base {base:,.0f} (rotary positions, Su et al., "
                "2021): so a score depends on how far apart two tokens are.",
                base=head.rotary_base,
            )
        )
    if head.key_value_heads < seen.heads:
        group = seen.heads // head.key_value_heads
        first = seen.head - seen.head % group + 1
        said.append(
            ngettext(
                "Heads {first} to {last} share these keys and values, and each asks with queries of its own: {heads} "
                "heads have queries here and {count} has keys and values (grouped-query attention, Ainslie et al., "
                "2023), so that less has to be kept in memory while a text is written.",
                "Heads {first} to {last} share these keys and values, and each asks with queries of its own: {heads} "
                "heads have queries here and {count} have keys and values (grouped-query attention, Ainslie et al., "
                "2023), so that less has to be kept in memory while a text is written.",
                head.key_value_heads,
                first=first,
                last=first + group - 1,
                heads=seen.heads,
            )
        )
    if head.reach is not None:
        said.append(
            ngettext(
                "In this layer a token looks at most {count} token to either side, in others at all of them.",
                "In this layer a token looks at most {count} tokens to either side, in others at all of them.",
                head.reach,
            )
        )
    return said


def head_picture(seen: Look) -> str:
    """HTML picture of the token's query, a row per key (score, share, value), and its output; orange is negative."""
    head, followed = seen.numbers, seen.position
    top, value_top = strip_top(head.queries[followed], head.keys), strip_top(head.values)
    name, output = named(seen.tokens[followed]), head.outputs[followed]
    before = ""
    if head.unturned_queries is not None:
        query = head.unturned_queries[followed]
        before = f'<div class="qkv-end"><span>{_("query, not yet turned")}</span>{strip(query, top)}</div>'
    rows = "".join(
        f'<li class="{"hidden-key" if head.masked[followed, key] else ""}{" followed" if key == followed else ""}">'
        f'<span class="qkv-name">{named(token)}</span>{strip(head.keys[key], top)}'
        f'<span class="qkv-number">{number(head.scores[followed, key], 1)}</span>'
        f'<span class="qkv-number">{_scaled(seen, key)}</span>'
        f'<span class="qkv-share">{track(share)}{percent(share)}</span>{strip(head.values[key], value_top)}</li>'
        for key, (token, share) in enumerate(zip(seen.tokens, head.weights[followed].tolist(), strict=True))
    )
    said = _("Query, keys and values as strips of colour; the table below has the numbers")
    query_of, receives = _("query of “{token}”", token=name), _("what “{token}” receives", token=name)
    divided = f"÷ {number(head.divisor, 2)}"
    heads = (_("token"), _("its key"), _("score"), divided, _("share"), _("its value"))
    return (
        f'<div class="qkv" role="img" aria-label="{said}">{before}'
        f'<div class="qkv-end"><span>{query_of}</span>{strip(head.queries[followed], top)}</div>'
        f'<div class="qkv-heads">{"".join(f"<span>{each}</span>" for each in heads)}</div><ol>{rows}</ol>'
        f'<div class="qkv-end"><span>{receives}</span>{strip(output, strip_top(output))}</div></div>'
    ) + quiet(_("A strip has a stripe for each number of a vector: orange below zero, blue above."))


def head_table(seen: Look) -> str:
    """A fold-out table of each token's key, score, scaled score, weight and value, with the head's output last."""
    head, followed = seen.numbers, seen.position
    unturned = [] if head.unturned_keys is None else [head.unturned_keys]
    rows = [
        (
            named(token),
            *(few(keys[key], _SHOWN_NUMBERS) for keys in (*unturned, head.keys)),
            number(head.scores[followed, key], 3),
            _scaled(seen, key, 3),
            number(head.weights[followed, key], 4),
            few(head.values[key], _SHOWN_NUMBERS),
        )
        for key, token in enumerate(seen.tokens)
    ]
    rows.append((_("sum"), *[""] * (3 + len(unturned)), number(1, 4), few(head.outputs[followed], _SHOWN_NUMBERS)))
    of_keys = (_("key, not yet turned"), _("key")) if unturned else (_("key"),)
    heads = (_("token"), *of_keys, _("query · key"), f"÷ √{head.width}", _("softmax"), _("value"))
    said = _(
        "query of “{token}”: {few} ({count} numbers)",
        token=named(seen.tokens[followed]),
        few=few(head.queries[followed], 2 * _SHOWN_NUMBERS),
        count=head.width,
    )
    return fold_out(
        _("The numbers as a table, of each vector the first {count} of {all}", count=_SHOWN_NUMBERS, all=head.width),
        f"<p>{said}</p>{table(heads, rows)}",
        _("Keys, scores, shares and values"),
    )


def _scaled(seen: Look, key: int, digits: int = 2) -> str:
    """The scaled score of the followed token's query with a key, as text; −∞ where it is masked."""
    hidden = seen.numbers.masked[seen.position, key]
    return number(-np.inf if hidden else seen.numbers.scaled[seen.position, key], digits)


_MASKING_TEXT = N_(
    "BERT fills blanks, so each token may look at every other. GPT-2 writes the next word, so a token that could look "
    "ahead would copy the answer: a <em>causal mask</em> puts −∞ in the place of every score above the diagonal, and "
    "as e to the power of −∞ is nothing, softmax gives those places no share. Nothing else is different."
)
_SIDES = (
    ("clearhead-minilm", N_("BERT looks both ways"), "bert"),
    ("clearhead-stories", N_("GPT-2 looks back only"), "gpt"),
)
_SCORES = "0.11 0.00 0.81 0.79\n0.19 0.50 0.30 0.48\n0.53 0.98 0.95 0.14\n0.81 0.86 0.38 0.90"
_SQUARES = {N_("the lecture’s scores"): [_SCORES, 4], N_("the same, not divided"): [_SCORES, 1]}
_DIVIDED = N_(
    "On the lecture’s slide the shares of the second row are 0.48 and 0.52. Softmax of 0.19 and 0.50 as they stand "
    "would be 0.42 and 0.58: the slide leaves out that the scores were divided by 4, which is √d<sub>k</sub> for keys "
    "of 16 numbers. No other whole number gives its rows; set the divisor to 1 to see."
)
_MOST_COLUMNS = 12


def _create_masking(inside: Inside) -> BuiltStep:
    outputs: list[Component] = []
    with gr.Row(elem_classes="masking-sides"):
        for _checkpoint, side, key in _SIDES:
            title = _(side)
            scores, shares = _("{title}: scores", title=title), _("{title}: shares", title=title)
            with gr.Column(min_width=300):
                outputs += [
                    place(title, "inside-finding", "room-1", value=f"<h3>{title}</h3>"),
                    plot(scores, "heatmap-frame", elem_id=f"masking-scores-{key}"),
                    plot(shares, "heatmap-frame", "room-1", elem_id=f"masking-shares-{key}"),
                    place(_("The numbers"), "inside-numbers"),
                ]
    gr.HTML(f"<h3>{_('The lecture’s four tokens')}</h3>", label=_("The lecture's scores"))
    with gr.Row(elem_classes="settings"):
        square = gr.Textbox(
            _SCORES, label=_("Scores"), info=_("a line for each query; worked out when you leave the field"),
            lines=4, max_lines=8,
        )  # fmt: skip
        divisor = gr.Slider(1, 16, 4, step=1, label=_("Divided by"), info="√d_k")
    create_own_numbers(square, divisor, worked_square, _("The lecture's masked scores"), _SQUARES)
    gr.HTML(quiet(_(_DIVIDED)), label=_("Why four"))
    create_memory()

    def draw(request: InsideRequest) -> Sequence[Any]:
        values: list[Any] = []
        for name, side, _key in _SIDES:
            title = _(side)
            seen = inside.look(inside.checked(replace(request, checkpoint=name, position=FROM_THE_MODEL))[0])
            figures = drawn(scores_matrix(seen)), drawn(shares_matrix(seen))
            values += [f"<h3>{title}</h3>{_masking_said(seen)}", *figures, _masking_table(seen, title)]
        return values

    return BuiltStep(outputs, draw)


def _masking_said(seen: Look) -> str:
    """Sentences on the head, how much of it is masked or goes to later tokens, and what the pictures show."""
    head, count = seen.numbers, len(seen.tokens)
    if head.masked.any():
        share = ngettext(
            "Masked: {count} of {places} places is −∞ and gets no share.",
            "Masked: {count} of {places} places are −∞ and get no share.",
            int(head.masked.sum()),
            places=count * count,
        )
    else:
        later = percent(np.triu(head.weights, k=1).sum() / count)
        share = _("{share} of its weight goes to tokens that come later.", share=later)
    which = _(
        "Layer {layer} of {layers}, head {head} of {heads}.",
        layer=seen.layer + 1,
        layers=seen.layers,
        head=seen.head + 1,
        heads=seen.heads,
    )
    pictures = _(
        "Above: scores ÷ {divisor}. Below: the shares that softmax makes of each row.", divisor=number(head.divisor, 2)
    )
    return quiet(f"{which} {share} {pictures}")


def _masking_table(seen: Look, title: str) -> str:
    """A fold-out table of all scores and weights; of a text of over `_MOST_COLUMNS` tokens, each row's greatest."""
    head, tokens = seen.numbers, [named(token) for token in seen.tokens]
    rows: list[Sequence[str]] = []
    if len(tokens) <= _MOST_COLUMNS:
        heads = [_("from \\ to"), *tokens]
        for token, *row in zip(tokens, head.scaled, head.weights, head.masked, strict=True):
            cells = zip(*row, strict=True)
            said = (
                "−∞ → 0" if hidden else f"{number(score, 2)} → {number(share, 2)}" for score, share, hidden in cells
            )
            rows.append([token, *said])
    else:
        heads = [_("from"), _("may look at"), _("strongest"), _("its score"), _("its share")]
        for token, scaled, weights, masked in zip(tokens, head.scaled, head.weights, head.masked, strict=True):
            best = weights.argmax()
            seen_tokens = ngettext("{count} token", "{count} tokens", int((~masked).sum()))
            rows.append((token, seen_tokens, tokens[best], *numbers((scaled[best], weights[best]), 2)))
    name = _("{title}: scores and shares", title=title)
    return fold_out(_("Scores and shares as a table"), table(heads, rows), name)


_HEAD_CHOICES = ("layer", "head", "position")
HEAD = WalkStep(3, "head", N_("Queries, keys, values"), _HEAD_TEXT, _create_head, Inside.look_at_source, _HEAD_CHOICES)
MASKING = WalkStep(4, "masking", N_("Masked or not"), _MASKING_TEXT, _create_masking, Inside.look, ("layer", "head"))
