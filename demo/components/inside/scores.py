"""Additive, dot, bilinear and scaled dot scores of one worked example, side by side."""

import numpy as np
from numpy.typing import NDArray

from demo.components.inside.numbers import fold_out, table
from demo.plots.reading import percent
from models.decoding.scores import softmax
from models.inside.formulas import EXAMPLE

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
