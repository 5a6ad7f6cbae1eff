"""Four ways to say how well a query fits a key, on a worked example that can be followed by hand."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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


def softmax(scores: Vector) -> Vector:
    """Scores as shares of one."""
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum())


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
