"""Attention as an SVG that stands by itself: the heatmap of a saved page, where no script draws."""

import html
import io
import math

import numpy as np
from PIL import Image

from demo.plots.heatmap import cell_side, hatching
from demo.plots.reading import read_out, scale_top
from demo.plots.sheet import data_uri
from demo.plots.template import INK, label
from demo.plots.view import AttentionView
from models.outputs import Token

_EDGE = 8
_LETTER_WIDTH = 0.62
_LARGEST_LETTERS = 13
_LEAST_LABEL_STEP = 13
_SLANT = 60


def attention_svg(view: AttentionView) -> str:
    """The cells as one picture with a pixel for each, more weight more ink, and the tokens along its sides."""
    side = cell_side(max(view.weights.shape))
    queries, keys = view.weights.shape
    width, height = side * keys, side * queries
    letters = min(_LARGEST_LETTERS, max(10, round(side * 0.75)))
    left = _room(view.query_tokens, letters)
    # Slanted labels need less height than length, and as much width beyond the last column.
    top = _room(view.key_tokens, letters)
    svg = (
        f'<svg class="cells" role="img" aria-label="{html.escape(read_out(view))}" '
        f'width="{left + width + top / 2:.0f}" height="{top + height:.0f}" '
        f'data-left="{left:.0f}" data-top="{top:.0f}" data-side="{side:.4f}">'
        f'<g transform="translate({left:.0f} {top:.0f})">'
    )
    hatched = ""
    if view.masked.any():
        ground, lines = hatching(view.masked)
        hatched = (
            f'<g transform="scale({side:.4f}) translate(0.5 0.5)"><path class="hatched" d="{ground}"/>'
            f'<path class="hatching" vector-effect="non-scaling-stroke" d="{lines}"/></g>'
        )
    image = (
        f'<image class="ink" width="{width:.2f}" height="{height:.2f}" preserveAspectRatio="none" '
        f'href="{data_uri(_ink(view))}"/>'
    )
    return f"{svg}{hatched}{image}{_labels(view, side, letters)}</g></svg>"


def _ink(view: AttentionView) -> bytes:
    """A PNG of one pixel per cell, all of one colour; a cell's weight is how opaque it is."""
    shares = np.where(view.masked, 0, np.clip(view.weights / scale_top(view), 0, 1))
    image = Image.fromarray(np.rint(255 * shares).astype(np.uint8))
    image.putpalette(bytes(int(INK[place : place + 2], 16) for place in (1, 3, 5)) * 256)
    written = io.BytesIO()
    image.save(written, format="PNG", transparency=bytes(range(256)))
    return written.getvalue()


def _room(tokens: tuple[Token, ...], letters: int) -> float:
    """How many pixels the longest label takes."""
    return max(len(label(token)) for token in tokens) * letters * _LETTER_WIDTH + 2 * _EDGE


def _labels(view: AttentionView, side: float, letters: int) -> str:
    """As many tokens as fit beside the rows and, slanted, above the columns."""
    every = max(1, math.ceil(_LEAST_LABEL_STEP / side))
    rows = "".join(
        f'<text x="{-_EDGE}" y="{(row + 0.5) * side:.1f}" dy="0.35em" text-anchor="end">{_name(token)}</text>'
        for row, token in list(enumerate(view.query_tokens))[::every]
    )
    columns = "".join(
        f'<text transform="translate({(column + 0.5) * side:.1f} {-_EDGE}) rotate(-{_SLANT})" dy="0.35em">'
        f"{_name(token)}</text>"
        for column, token in list(enumerate(view.key_tokens))[::every]
    )
    return f'<g font-size="{letters}">{rows}{columns}</g>'


def _name(token: Token) -> str:
    return html.escape(label(token))
