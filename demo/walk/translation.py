"""Step 7 of the walk: a decoder translates, one token at a time, and four ways to score attention."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr
import numpy as np

from demo.language import N_, _, number
from demo.plots.reading import percent
from demo.plots.template import label
from demo.walk.step import BuiltStep, WalkStep, place, quiet, read_out
from demo.walk.view import Inside, InsideRequest
from demo.widgets.bars import bars
from demo.widgets.tables import fold_out, framed, named, table
from models.inside.formulas import EXAMPLE
from models.inside.outputs import Numbers, TranslationSteps
from models.outputs.base import Prediction, Token, softmax

_TEXT = N_(
    "A translator has two halves: the <em>encoder</em> turns your English into vectors, once; the <em>decoder</em> "
    "writes French, one token at a time. Before each token it looks back at the English: that is "
    "<em>cross-attention</em>, with its queries from the French so far, its keys and values from the English."
)
_WHERE = [(N_("The head that pairs words best"), "one"), (N_("Mean of the last layer’s heads"), "mean")]
# The (layer, head) that agrees most often with word pairs counted without any network (see the model's card).
_PAIRING = (2, 6)
_SHADES = 7


def _create(inside: Inside) -> BuiltStep:
    with gr.Row(elem_classes="settings"):
        slider = gr.Slider(1, 2, 1, step=1, label=_("Token to write"), info=_("walk through the translation"))
        where = gr.Radio([(_(name), value) for name, value in _WHERE], value="one", label=_("Where it looks"))
    picture = place(_("The decoder at this step"), "inside-picture", "room-1")
    gr.HTML(_four_ways(), elem_classes="inside-picture", label=_("Four ways to score"))

    def draw(request: InsideRequest, step: int, where: str) -> Sequence[Any]:
        seen = inside.translation(request)
        count = len(seen.generated)
        step = min(max(int(step), 1), count)
        weights = np.asarray(seen.cross[_PAIRING] if where == "one" else seen.cross[-1].mean(axis=0))
        return gr.update(maximum=max(count, 2), value=step), _translation_picture(seen, step, weights)

    return BuiltStep([slider, picture], draw, [slider, where])


def _translation_picture(seen: TranslationSteps, step: int, weights: Numbers) -> str:
    """HTML of the decoder at token `step`, from 1: the text so far, where it looks, and the likeliest next tokens.

    `weights` are `[written token, source token]`.
    """
    each, row = seen.generated[step - 1], weights[step - 1]
    before = "".join(one.token.text for one in seen.generated[: step - 1] if not one.token.special).strip()
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
    all_steps = table([_("writes"), _("probability"), *map(named, seen.source)], rows)
    said = _(
        "Token {step} of {count}: it writes “{written}” and looks most at “{looked_at}” ({share}).",
        step=step,
        count=len(seen.generated),
        written=named(each.token),
        looked_at=named(seen.source[most]),
        share=percent(row[most]),
    )
    return (
        read_out(said)
        + quiet(_("Written so far: <bdi>{text}</bdi>", text=html.escape(before) or _("nothing yet")))
        + f"<h3>{_('Where it looks in the English')}</h3>"
        + f'<ol class="pieces" aria-label="{_("Source tokens and their weights")}">{pieces}</ol>'
        + f"<h3>{_('What may come next')}</h3>{bars(candidates, _('The likeliest next tokens'))}"
        + fold_out(_("All steps as a table"), all_steps, _("Each written token and its weights over the source"))
    )


_WAYS = {
    "additive": (
        N_("Additive"),
        "v · tanh(W<sub>q</sub> q + W<sub>k</sub> k)",
        N_("a small network looks at both (Bahdanau et al., 2015): the first attention, with W and v learned"),
    ),
    "dot": (N_("Dot"), "q · k", N_("multiply number by number and add up (Luong et al., 2015): nothing to learn")),
    "bilinear": (
        N_("Bilinear"),
        "q · W k",
        N_("a dot product with a learned matrix W in between (“general” in Luong et al., 2015)"),
    ),
    "scaled": (
        N_("Scaled dot"),
        "q · k ÷ √d",
        N_(
            "divided by the root of the dimension d (Vaswani et al., 2017): long vectors have large dot products, "
            "which would leave nearly all weight with one word"
        ),
    ),
}


def _four_ways() -> str:
    """HTML table of four ways to score (rows) an example's words (columns), and all numbers to check by hand."""
    rows = []
    for way, (name, formula, explained) in _WAYS.items():
        scores = EXAMPLE.scores()[way]
        cells = [
            f'<td data-step="{round(_SHADES * share)}">{number(score, ".2f")} → <strong>{percent(share)}</strong></td>'
            for score, share in zip(scores.tolist(), softmax(scores).tolist(), strict=True)
        ]
        formula = f'<span class="score">{formula}</span>'
        said = _("{name}: {formula}", name=f"<strong>{_(name)}</strong>", formula=formula)
        rows.append((f'{said}<span class="quiet">{_(explained)}</span>', *cells))
    compared = table((_("score → weight"), *EXAMPLE.words), rows)
    by_hand = [
        (_("query q, before “voiture”"), _vector(EXAMPLE.query)),
        *(
            (_("key of “{word}”", word=word), _vector(key))
            for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True)
        ),
        (_("W (bilinear), row by row"), "; ".join(map(_vector, EXAMPLE.between))),
        (_("W<sub>q</sub> (additive), row by row"), "; ".join(map(_vector, EXAMPLE.of_query))),
        (_("W<sub>k</sub> (additive), row by row"), "; ".join(map(_vector, EXAMPLE.of_key))),
        (_("v (additive)"), _vector(EXAMPLE.out)),
    ]
    for word, key in zip(EXAMPLE.words, EXAMPLE.keys, strict=True):
        factors = zip(EXAMPLE.query, key, strict=True)
        products = " + ".join(f"{number(one, 'g')} · {number(other, 'g')}" for one, other in factors)
        by_hand.append((_("q · key of “{word}”", word=word), f"{products} = {number(EXAMPLE.query @ key, 'g')}"))
    said = _(
        "A <em>score</em> says how well a <em>query</em> q (what the decoder wants) fits a <em>key</em> k (what a "
        "source word offers); <em>softmax</em> turns scores into weights that add up to 100&nbsp;%. Four ways to score "
        "have been used. This example is made up, with d = {d}, so that you can follow it by hand; this page’s models "
        "use the last one.",
        d=len(EXAMPLE.query),
    )
    in_full = table(("", _("numbers")), by_hand)
    return (
        f"<h3>{_('How is “looking” scored?')}</h3>{quiet(said)}"
        f"{framed(compared, _('Four ways to score, on one example'), 'scores')}"
        + fold_out(_("The vectors and matrices of the example"), in_full, _("The example’s numbers"))
    )


def _vector(numbers: Iterable[float]) -> str:
    return f"({', '.join(number(each, 'g') for each in numbers)})"


TRANSLATION = WalkStep(7, "translation", N_("Encoder and decoder"), _TEXT, _create, Inside.translation)
