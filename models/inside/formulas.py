"""Formulas of the tab Inside that need no model: softmax, reach, positions, attention scores, costs of layers."""

from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.inside.outputs import HeadNumbers, Numbers
from models.outputs.base import softmax
from models.wording import Sentence

Array = NDArray[np.float64]
PAPERS_BASE = 10_000


def shares(scores: Numbers, divisor: float, masked: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
    """The scores divided by `divisor`, and the softmax of these over the last axis, with −∞ where `masked`."""
    scaled = np.asarray(scores, dtype=np.float32) / np.float32(divisor)
    hidden = scaled if masked is None else np.where(masked, -np.inf, scaled).astype(np.float32)
    return scaled, softmax(hidden)


def turned_shares(head: HeadNumbers, token: int, component: int, value: float) -> Numbers:
    """The attention weights `[key]` of `token` with `value` as component `component` of its query, from 0."""
    query = head.queries[token].copy()
    query[component] = value
    return shares(head.keys @ query, head.divisor, head.masked[token])[1]


def strongest_component(head: HeadNumbers, token: int) -> int:
    """The component, from 0, of the query of `token` that changes its weights most when 1 is added to it."""
    query, before = head.queries[token], head.weights[token]
    moved = [
        np.abs(turned_shares(head, token, component, query[component] + 1) - before).sum()
        for component in range(head.width)
    ]
    return int(np.argmax(moved))


def at_temperatures(logits: Numbers, temperatures: Numbers) -> tuple[Numbers, Numbers]:
    """The probabilities `[temperature, choice]` of softmax(logits / T), and their entropy in bits, `[temperature]`."""
    probabilities = softmax(logits[None, :] / temperatures[:, None])
    # A probability of zero adds nothing to the entropy, and has no logarithm.
    surprise = -np.log2(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
    return probabilities, (probabilities * surprise).sum(axis=1)


def reach(window: int, layers: int, token: int, *, cached: bool) -> tuple[int, ...]:
    """The first token, from 0, that can influence `token` through 0, 1, … `layers` layers; those between can, too.

    The text is read in windows of `window` tokens, one after another, and no token looks ahead. In a layer a token
    attends to its own window, and with `cached` segments also to the window before, as the layer below left it
    (Transformer-XL, Dai et al., 2019).
    """
    start = token - token % window
    return (token, *(max(0, start - cached * window * layer) for layer in range(1, layers + 1)))


def sinusoidal(length: int, dimension: int, base: float = PAPERS_BASE) -> Array:
    """The sinusoidal encoding `[position, component]`: a sine in each even component, its cosine in the next one.

    The angle of component pair i grows by `base ** (-2i / dimension)` radians from one position to the next.
    """
    pair = np.arange(dimension) // 2
    angles = np.arange(length)[:, None] / base ** (2 * pair / dimension)
    return np.where(np.arange(dimension) % 2 == 0, np.sin(angles), np.cos(angles))


def turned(vectors: Numbers, base: float) -> Numbers:
    """Rotate queries or keys `[head, token, d_k]` by their positions (rotary positions, Su et al., 2021).

    Component i of the first half and component i of the second are a point in a plane, rotated at position p by
    `p * base ** (-2i / d_k)` radians. So the product of a query and a key depends on how far apart they are.
    """
    cosines, sines = np.split(turns(vectors.shape[1], vectors.shape[2], base).astype(np.float32), 2, axis=-1)
    first, second = np.split(vectors, 2, axis=-1)
    return np.concatenate([first * cosines - second * sines, second * cosines + first * sines], axis=-1)


def turns(length: int, dimension: int, base: float) -> Array:
    """The cosines of the angles by which `turned` rotates, then their sines, `[position, dimension]`."""
    waves = sinusoidal(length, dimension, base)
    return np.concatenate([waves[:, 1::2], waves[:, 0::2]], axis=-1)


class WorkedExample(NamedTuple):
    """A query, one key per word, and the weights of the score functions that have learned weights."""

    words: tuple[str, ...]
    query: Array
    keys: Array
    between: Array
    of_query: Array
    of_key: Array
    out: Array

    def scores(self) -> dict[str, Array]:
        """The score of each key by each score function, `[key]`.

        Additive attention is a network with one hidden layer (Bahdanau et al., 2015); dot and bilinear, with a learned
        matrix in between, are of Luong et al., 2015; the scaled dot product is of Vaswani et al., 2017, section 3.2.1.
        """
        dot = self.keys @ self.query
        return {
            "additive": np.tanh(self.of_query @ self.query + self.keys @ self.of_key.T) @ self.out,
            "dot": dot,
            "bilinear": self.keys @ (self.query @ self.between),
            "scaled": dot / np.sqrt(len(self.query)),
        }


EXAMPLE = WorkedExample(
    words=("the", "red", "car"),
    query=np.array([1.0, 0.0, 2.0, 1.0]),
    keys=np.array([[0.0, 2.0, 0.0, 2.0], [2.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 1.0]]),
    between=np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0.25, 0, 0.75, 0], [0, 0, 0, 1.0]]),
    of_query=np.array([[0.5, 0, 0, 0], [0, 0, 0.5, 0]]),
    of_key=np.array([[0, 0, 0, 0.5], [0, -0.5, 0.5, 0]]),
    out=np.array([1.0, 2.0]),
)
"""Vectors as a decoder may have them (the query) before it writes "voiture" for "the red car" (the keys)."""


class LayerCost(NamedTuple):
    """The cost of a layer of one kind for n tokens of width d (Vaswani et al., 2017, table 1), without constants.

    `sequential` is how many operations must wait for one another, `path` how many steps lie between the two tokens
    that are furthest apart.
    """

    name: str
    formula: str
    operations: int
    sequential: int
    path: int


def layer_costs(length: int, width: int, kernel: int = 3) -> tuple[LayerCost, ...]:
    """The cost of a layer of each kind for `length` tokens of width `width`; a convolution spans `kernel` tokens."""
    # Each convolution reaches `kernel` times as far as the one before it.
    convolutions = next(layers for layers in count(1) if kernel**layers >= length)
    return (
        LayerCost(Sentence("self-attention"), "n² · d", length**2 * width, 1, 1),
        LayerCost(Sentence("recurrence"), "n · d²", length * width**2, length, length),
        LayerCost(Sentence("convolution"), f"k · n · d², k = {kernel}", kernel * length * width**2, 1, convolutions),
    )
