"""Step 7: a decoder at work, one token at a time, and four ways to score where it looks."""

import html

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from demo.plots.reading import percent
from demo.plots.template import label
from demo.reader.table import KEEP_OPEN
from demo.walk.step import BuiltStep, InsideControls, WalkStep, fold_out, table
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.bars import bars
from models.inside.formulas import EXAMPLE
from models.inside.outputs import TranslationSteps
from models.outputs import Prediction, Token, softmax

_WAYS = (
    (
        "additive",
        "Additive",
        "v · tanh(W<sub>q</sub> q + W<sub>k</sub> k)",
        "a small network looks at both (Bahdanau et al., 2015): the first attention, with W and v learned",
    ),
    ("dot", "Dot", "q · k", "multiply number by number and add up (Luong et al., 2015): nothing to learn"),
    (
        "bilinear",
        "Bilinear",
        "q · W k",
        "a dot product with a learned matrix W in between (“general” in Luong et al., 2015)",
    ),
    (
        "scaled",
        "Scaled dot",
        "q · k ÷ √d",
        "divided by the root of the dimension d (Vaswani et al., 2017): long vectors have large dot products, which "
        "would leave nearly all weight with one word",
    ),
)
_SHADES = 7


def _compared() -> str:
    """The four ways as rows, the words as columns, each cell a score and its share after softmax."""
    rows = []
    for way, name, formula, explained in _WAYS:
        scores = EXAMPLE.scores(way)
        cells = "".join(
            f'<td data-step="{round(_SHADES * float(share))}">{score:.2f} → '
            f"<strong>{percent(float(share))}</strong></td>"
            for score, share in zip(scores, softmax(scores), strict=True)
        )
        rows.append(
            f'<tr><th scope="row"><strong>{name}</strong>: <span class="score">{formula}</span>'
            f'<span class="quiet">{explained}</span></th>{cells}</tr>'
        )
    heads = "".join(f'<th scope="col">{word}</th>' for word in EXAMPLE.words)
    return (
        '<div class="table-frame scores" role="region" aria-label="Four ways to score, on one example" tabindex="0">'
        f'<table><thead><tr><th scope="col">score → weight</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div>"
    )


def _numbers() -> str:
    keys = [(f"key of “{word}”", _vector(key)) for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True)]
    learned = [
        ("W (bilinear), row by row", _matrix(EXAMPLE.between)),
        ("W<sub>q</sub> (additive), row by row", _matrix(EXAMPLE.of_query)),
        ("W<sub>k</sub> (additive), row by row", _matrix(EXAMPLE.of_key)),
        ("v (additive)", _vector(EXAMPLE.out)),
    ]
    dots = [
        (
            f"q · key of “{word}”",
            " + ".join(f"{one:g} · {other:g}" for one, other in zip(EXAMPLE.query, key, strict=True))
            + f" = {EXAMPLE.query @ key:g}",
        )
        for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True)
    ]
    rows = [("query q, before “voiture”", _vector(EXAMPLE.query)), *keys, *learned, *dots]
    return fold_out("The vectors and matrices of the example", table(("", "numbers"), rows), "The example’s numbers")


def _vector(numbers: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"


def _matrix(rows: NDArray[np.float64]) -> str:
    return "; ".join(map(_vector, rows))


SCORES = (
    '<h3>How is “looking” scored?</h3><p class="quiet">A <em>score</em> says how well a <em>query</em> q (what the '
    "decoder wants) fits a <em>key</em> k (what a source word offers); <em>softmax</em> turns scores into weights that "
    "add up to 100&nbsp;%. Four ways to score have been used. This example is made up, with d = "
    f"{len(EXAMPLE.query)}, so that you can follow it by hand; this page’s models use the last one.</p>"
    f"{_compared()}{_numbers()}"
)
"""The whole explanation, the same for every text."""


_TEXT = (
    "A translator has two halves: the <em>encoder</em> turns your English into vectors, once; the <em>decoder</em> "
    "writes French, one token at a time. Before each token it looks back at the English: that is "
    "<em>cross-attention</em>, with its queries from the French so far, its keys and values from the English."
)
_WAYS_TRANSLATION = {"one": "The head that pairs words best", "mean": "Mean of the last layer’s heads"}
# Of all its heads, this one agrees most often with word pairs that were counted without any network (see its card).
_PAIRING = (2, 6)


def _create(controls: InsideControls) -> BuiltStep:
    with gr.Row(elem_classes="settings"):
        step = gr.Slider(1, 2, 1, step=1, label="Token to write", info="walk through the translation")
        way = gr.Radio([(name, way) for way, name in _WAYS_TRANSLATION.items()], value="one", label="Where it looks")
    picture = gr.HTML(
        "", js_on_load=KEEP_OPEN, elem_classes=["inside-picture", "room-1"], label="The decoder at this step"
    )
    gr.HTML(SCORES, elem_classes="inside-picture", label="Four ways to score")

    def draw(request: InsideRequest, step: int, way: str) -> Updates:
        seen = controls.inside.translation(request)
        count = len(seen.generated)
        number = min(max(int(step), 1), count)
        return {
            slider: gr.update(maximum=max(count, 2), value=number),
            picture: translation_picture(seen, number, way),
        }

    slider = step
    return BuiltStep(draw, [slider, picture], [slider, way])


def translation_picture(seen: TranslationSteps, number: int, way: str) -> str:
    """The text before token `number`, counted from 1, where the decoder looks, and the likeliest next tokens."""
    each = seen.generated[number - 1]
    before = "".join(one.token.text for one in seen.generated[: number - 1] if not one.token.special).strip()
    weights = cross_weights(seen, way)[number - 1]
    candidates = [Prediction(label(Token(one.text, one.text, one.id)), one.score) for one in each.alternatives]
    most = int(weights.argmax())
    return (
        f'<p class="read-out" aria-live="polite">Token {number} of {len(seen.generated)}: it writes '
        f"“<bdi>{html.escape(label(each.token))}</bdi>” and looks most at "
        f"“<bdi>{html.escape(label(seen.source[most]))}</bdi>” ({percent(float(weights[most]))}).</p>"
        f'<p class="quiet">Written so far: <bdi>{html.escape(before) or "nothing yet"}</bdi></p>'
        f"<h3>Where it looks in the English</h3>{_source(seen.source, weights)}"
        f"<h3>What may come next</h3>{bars(candidates, 'The likeliest next tokens')}"
        f"{_numbers_translation(seen, way)}"
    )


def cross_weights(seen: TranslationSteps, way: str) -> NDArray[np.float32]:
    """The weights `[written token, source token]` of one head, or the mean of the last layer."""
    layer, head = _PAIRING
    return seen.cross[layer, head] if way == "one" else np.asarray(seen.cross[-1].mean(axis=0))


def _source(tokens: tuple[Token, ...], weights: NDArray[np.float32]) -> str:
    top = max(float(weights.max()), 1e-6)
    pieces = "".join(
        f'<li class="piece{" mark" if token.special else ""}" data-step="{round(_SHADES * float(weight) / top)}">'
        f'<bdi>{html.escape(label(token))}</bdi><span class="piece-id">{percent(float(weight))}</span></li>'
        for token, weight in zip(tokens, weights, strict=True)
    )
    return f'<ol class="pieces" aria-label="Source tokens and their weights">{pieces}</ol>'


def _numbers_translation(seen: TranslationSteps, way: str) -> str:
    heads = ["writes", "probability", *(f"<bdi>{html.escape(label(token))}</bdi>" for token in seen.source)]
    rows = [
        (
            f"<bdi>{html.escape(label(each.token))}</bdi>",
            percent(each.probability),
            *(percent(float(weight)) for weight in row),
        )
        for each, row in zip(seen.generated, cross_weights(seen, way), strict=True)
    ]
    return fold_out("All steps as a table", table(heads, rows), "Each written token and its weights over the source")


TRANSLATION = WalkStep(7, "translation", "Encoder and decoder", _TEXT, _create)
