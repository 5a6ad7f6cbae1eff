"""Formulas of the walk that need no model: scores, softmax, positions, and what a layer costs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.inside.outputs import LayerCost, Numbers
from models.outputs import softmax

Vector = NDArray[np.float64]
PAPERS_BASE = 10_000
KERNEL = 3
"""How many neighbouring tokens a convolution sees at once."""


def dot(query: Vector, key: Vector) -> float:
    """The numbers of both multiplied one by one and added up (Luong et al., 2015)."""
    return float(query @ key)


def scaled_dot(query: Vector, key: Vector) -> float:
    """The dot product divided by the square root of the dimension (Vaswani et al., 2017, section 3.2.1)."""
    return dot(query, key) / float(np.sqrt(len(key)))


def bilinear(query: Vector, key: Vector, between: NDArray[np.float64]) -> float:
    """The dot product with a learned matrix `[query, key]` in between ("general" in Luong et al., 2015)."""
    return float(query @ between @ key)


def additive(
    query: Vector, key: Vector, of_query: NDArray[np.float64], of_key: NDArray[np.float64], out: Vector
) -> float:
    """A network with one hidden layer: both maps `[hidden, dimension]`, added, tanh, weighed by `out` `[hidden]`.

    (Bahdanau et al., 2015.)
    """
    return float(out @ np.tanh(of_query @ query + of_key @ key))


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """A query, keys with a word each, and numbers for what the learned ways have learned."""

    words: tuple[str, ...]
    query: Vector
    keys: NDArray[np.float64]
    between: NDArray[np.float64]
    of_query: NDArray[np.float64]
    of_key: NDArray[np.float64]
    out: Vector

    def scores(self, way: str) -> Vector:
        """The score of each key by `way`: `dot`, `scaled`, `bilinear` or `additive`."""
        ways: dict[str, Callable[[Vector], float]] = {
            "dot": lambda key: dot(self.query, key),
            "scaled": lambda key: scaled_dot(self.query, key),
            "bilinear": lambda key: bilinear(self.query, key, self.between),
            "additive": lambda key: additive(self.query, key, self.of_query, self.of_key, self.out),
        }
        return np.array([ways[way](key) for key in self.keys])


EXAMPLE = WorkedExample(
    words=("the", "red", "car"),
    query=np.array([1.0, 0.0, 2.0, 1.0]),
    keys=np.array([[0.0, 2.0, 0.0, 2.0], [2.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 1.0]]),
    between=np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0.25, 0, 0.75, 0], [0, 0, 0, 1.0]]),
    of_query=np.array([[0.5, 0, 0, 0], [0, 0, 0.5, 0]]),
    of_key=np.array([[0, 0, 0, 0.5], [0, -0.5, 0.5, 0]]),
    out=np.array([1.0, 2.0]),
)
"""What a decoder may hold when it is about to write "voiture", and the encoder for "the red car"."""


def shares(scores: Numbers, divisor: float, masked: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
    """The scores divided by `divisor`, with −∞ where they are `masked`, and the softmax of that."""
    scaled = np.asarray(scores, dtype=np.float32) / np.float32(divisor)
    hidden = scaled if masked is None else np.where(masked, -np.inf, scaled).astype(np.float32)
    return scaled, softmax(hidden)


def sinusoidal(length: int, dimension: int, base: float = PAPERS_BASE) -> NDArray[np.float64]:
    """The encoding `[position, component]`: a sine in each even component, in the odd one behind it its cosine.

    Component pair i turns by `base ** (-2i / dimension)` radians from one position to the next.
    """
    pair = np.arange(dimension) // 2
    angles = np.arange(length)[:, None] / base ** (2 * pair / dimension)
    return np.where(np.arange(dimension) % 2 == 0, np.sin(angles), np.cos(angles))


def layer_costs(length: int, width: int, kernel: int = KERNEL) -> tuple[LayerCost, ...]:
    """The costs of a layer of each kind for `length` tokens of `width` numbers."""
    return (
        LayerCost("self-attention", "n² · d", length**2 * width, 1, 1),
        LayerCost("recurrence", "n · d²", length * width**2, length, length),
        LayerCost("convolution", f"k · n · d², k = {kernel}", kernel * length * width**2, 1, _layers(length, kernel)),
    )


def _layers(length: int, kernel: int) -> int:
    """How many convolutions, each reaching `kernel` times as far, join the two ends: log to the base `kernel`."""
    layers, reach = 1, kernel
    while reach < length:
        layers, reach = layers + 1, reach * kernel
    return layers
