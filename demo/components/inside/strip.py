"""Vectors and tokens as the pictures of the steps show them, in HTML."""

import html

import numpy as np
from numpy.typing import NDArray

from demo.plots.inside_strips import strip_image
from demo.plots.template import label
from models.outputs import Token


def strip(vector: NDArray[np.float32], top: float) -> str:
    """A vector as a strip of colours; `top` is the number that gets the full colour. Tables have its numbers."""
    return f'<img class="vector-strip" alt="" src="{strip_image(vector, top)}">'


def named(token: Token) -> str:
    """A token's name, as it is read."""
    return f"<bdi>{html.escape(label(token))}</bdi>"


def few(vector: NDArray[np.float32], count: int) -> str:
    """The first numbers of a vector, in words of figures."""
    more = " …" if len(vector) > count else ""
    return " ".join(number(float(each), 2) for each in vector[:count]) + more


def number(value: float, digits: int) -> str:
    """A number with a true minus sign; −∞ for what is masked."""
    if np.isneginf(value):
        return "−∞"
    return f"{value:.{digits}f}".replace("-", "−")


def distance(value: float) -> str:
    """How far two computations of the same numbers are apart, as a bound that is easy to read."""
    for power in range(9, 0, -1):
        if value < 10.0**-power:
            return f"less than 0.{'0' * (power - 1)}1"
    return number(value, 2)
