"""Step 7: a decoder at work, one token at a time, and four ways to score where it looks."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
import numpy as np

from demo.plots.reading import percent
from demo.plots.template import label
from demo.walk.step import BuiltStep, WalkStep, place, quiet, read_out
from demo.walk.view import Inside, InsideRequest
from demo.widgets.bars import bars
from demo.widgets.tables import fold_out, framed, named, table
from models.inside.formulas import EXAMPLE
from models.inside.outputs import Numbers, TranslationSteps
from models.outputs.base import Prediction, Token, softmax

_TEXT = (
    "A translator has two halves: the <em>encoder</em> turns your English into vectors, once; the <em>decoder</em> "
    "writes French, one token at a time. Before each token it looks back at the English: that is "
    "<em>cross-attention</em>, with its queries from the French so far, its keys and values from the English."
)
_WHERE = [("The head that pairs words best", "one"), ("Mean of the last layer’s heads", "mean")]
# Of all its heads, this one agrees most often with word pairs that were counted without any network (see its card).
_PAIRING = (2, 6)
_SHADES = 7


def _create(inside: Inside) -> BuiltStep:
    with gr.Row(elem_classes="settings"):
        slider = gr.Slider(1, 2, 1, step=1, label="Token to write", info="walk through the translation")
        where = gr.Radio(_WHERE, value="one", label="Where it looks")
    picture = place("The decoder at this step", "inside-picture", "room-1")
    gr.HTML(_four_ways(), elem_classes="inside-picture", label="Four ways to score")

    def draw(request: InsideRequest, number: int, where: str) -> Sequence[Any]:
        seen = inside.translation(request)
        count = len(seen.generated)
        number = min(max(int(number), 1), count)
        weights = np.asarray(seen.cross[_PAIRING] if where == "one" else seen.cross[-1].mean(axis=0))
        return gr.update(maximum=max(count, 2), value=number), _translation_picture(seen, number, weights)

    return BuiltStep([slider, picture], draw, [slider, where])


def _translation_picture(seen: TranslationSteps, number: int, weights: Numbers) -> str:
    """The text before token `number`, counted from 1, where the decoder looks, and the likeliest next tokens.

    `weights` are `[written token, source token]`.
    """
    each, row = seen.generated[number - 1], weights[number - 1]
    before = "".join(one.token.text for one in seen.generated[: number - 1] if not one.token.special).strip()
    candidates = [Prediction(label(Token(one.text, one.text, one.id)), one.score) for one in each.alternatives]
    most, top = int(row.argmax()), max(float(row.max()), 1e-6)
    pieces = "".join(
        f'<li class="piece{" mark" if token.special else ""}" data-step="{round(_SHADES * weight / top)}">'
        f'{named(token)}<span class="piece-id">{percent(weight)}</span></li>'
        for token, weight in zip(seen.source, row.tolist(), strict=True)
    )
    rows = [
        (named(one.token), percent(one.probability), *map(percent, looks))
        for one, looks in zip(seen.generated, weights.tolist(), strict=True)
    ]
    all_steps = table(["writes", "probability", *map(named, seen.source)], rows)
    return (
        read_out(
            f"Token {number} of {len(seen.generated)}: it writes “{named(each.token)}” and looks most at "
            f"“{named(seen.source[most])}” ({percent(row[most])})."
        )
        + quiet(f"Written so far: <bdi>{html.escape(before) or 'nothing yet'}</bdi>")
        + "<h3>Where it looks in the English</h3>"
        + f'<ol class="pieces" aria-label="Source tokens and their weights">{pieces}</ol>'
        + f"<h3>What may come next</h3>{bars(candidates, 'The likeliest next tokens')}"
        + fold_out("All steps as a table", all_steps, "Each written token and its weights over the source")
    )


_WAYS = {
    "additive": (
        "Additive",
        "v · tanh(W<sub>q</sub> q + W<sub>k</sub> k)",
        "a small network looks at both (Bahdanau et al., 2015): the first attention, with W and v learned",
    ),
    "dot": ("Dot", "q · k", "multiply number by number and add up (Luong et al., 2015): nothing to learn"),
    "bilinear": (
        "Bilinear",
        "q · W k",
        "a dot product with a learned matrix W in between (“general” in Luong et al., 2015)",
    ),
    "scaled": (
        "Scaled dot",
        "q · k ÷ √d",
        "divided by the root of the dimension d (Vaswani et al., 2017): long vectors have large dot products, which "
        "would leave nearly all weight with one word",
    ),
}


def _four_ways() -> str:
    """Four ways to score on one example: a row for each, a column for each word, and all numbers to follow by hand."""
    rows = []
    for way, (name, formula, explained) in _WAYS.items():
        scores = EXAMPLE.scores()[way]
        cells = [
            f'<td data-step="{round(_SHADES * share)}">{score:.2f} → <strong>{percent(share)}</strong></td>'
            for score, share in zip(scores.tolist(), softmax(scores).tolist(), strict=True)
        ]
        formula = f'<span class="score">{formula}</span>'
        rows.append((f'<strong>{name}</strong>: {formula}<span class="quiet">{explained}</span>', *cells))
    compared = table(("score → weight", *EXAMPLE.words), rows)
    by_hand = [
        ("query q, before “voiture”", _vector(EXAMPLE.query)),
        *((f"key of “{word}”", _vector(key)) for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True)),
        ("W (bilinear), row by row", "; ".join(map(_vector, EXAMPLE.between))),
        ("W<sub>q</sub> (additive), row by row", "; ".join(map(_vector, EXAMPLE.of_query))),
        ("W<sub>k</sub> (additive), row by row", "; ".join(map(_vector, EXAMPLE.of_key))),
        ("v (additive)", _vector(EXAMPLE.out)),
    ]
    for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True):
        products = " + ".join(f"{one:g} · {other:g}" for one, other in zip(EXAMPLE.query, key, strict=True))
        by_hand.append((f"q · key of “{word}”", f"{products} = {EXAMPLE.query @ key:g}"))
    said = (
        "A <em>score</em> says how well a <em>query</em> q (what the decoder wants) fits a <em>key</em> k (what a "
        "source word offers); <em>softmax</em> turns scores into weights that add up to 100&nbsp;%. Four ways to score "
        f"have been used. This example is made up, with d = {len(EXAMPLE.query)}, so that you can follow it by hand; "
        "this page’s models use the last one."
    )
    return (
        f"<h3>How is “looking” scored?</h3>{quiet(said)}"
        f"{framed(compared, 'Four ways to score, on one example', 'scores')}"
        + fold_out("The vectors and matrices of the example", table(("", "numbers"), by_hand), "The example’s numbers")
    )


def _vector(numbers: Iterable[float]) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


TRANSLATION = WalkStep(7, "translation", "Encoder and decoder", _TEXT, _create, Inside.translation)
