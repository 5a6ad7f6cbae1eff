"""The parts of every result: the checkpoint, its tokens, a candidate with its score."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.floating[Any])


@dataclass(frozen=True)
class LoadedCheckpoint:
    """The checkpoint that was really used: `revision` is a Hub commit, or the start of the weights' sha256.

    `engine` computed the answer, its large products in `precision`; the defaults are those of runs that were logged
    before these two were recorded.
    """

    name: str
    revision: str
    license: str
    precision: str = "float32"
    engine: str = "torch"


@dataclass(frozen=True)
class Token:
    """One piece of text as the model reads it.

    `text` is readable (`##ing`, ` the`), `piece` is the vocabulary's own spelling; `start` and `end` are characters
    of the input, -1 where the token stands for none of them.
    """

    text: str
    piece: str
    id: int
    special: bool = False
    start: int = -1
    end: int = -1

    @property
    def is_blank(self) -> bool:
        """Whether the token is a mask, which stands for a word that is left out."""
        return self.special and "mask" in self.piece.lower()

    @property
    def is_unknown(self) -> bool:
        """Whether it stands for a text that the vocabulary has no piece for."""
        return self.special and "unk" in self.piece.lower()

    @property
    def is_mark(self) -> bool:
        """Whether it is one of the model's own marks (start, end, separator), which stand for no text."""
        return self.special and not self.is_blank and not self.is_unknown


@dataclass(frozen=True)
class Prediction:
    """A candidate and its score: a probability from 0 to 1 unless the output says otherwise."""

    text: str
    score: float


def softmax(logits: NDArray[Number]) -> NDArray[Number]:
    """Return the softmax of `logits` over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class TaskOutput:
    """The fields of every output: the checkpoint that made it and the tokens that it read."""

    checkpoint: LoadedCheckpoint
    tokens: tuple[Token, ...]
