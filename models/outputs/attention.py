"""Attention, and what is told from it or beside it: the roles of heads, attribution, heads switched off."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import require_there
from models.outputs.base import Token

MEAN = -1
"""The layer or head number that stands for all of them: in pictures and tables for their mean."""


@dataclass(frozen=True, eq=False)
class Attention:
    """The weights of every layer and head over one text, `[layer, head, query, key]`; over the keys they sum to one.

    `masked` `[query, key]` is true where the model may not look (Vaswani et al., 2017, section 3.2.3).
    """

    kind: str
    weights: NDArray[np.float32]
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    masked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        expected = (len(self.query_tokens), len(self.key_tokens))
        if self.weights.ndim != 4 or self.weights.shape[2:] != expected:
            raise ValueError(f"weights {self.weights.shape} do not fit {expected[0]} queries and {expected[1]} keys")
        if self.masked.shape != expected:
            raise ValueError(f"mask {self.masked.shape} does not fit {expected}")

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads in each layer."""
        return int(self.weights.shape[1])

    @property
    def within_one_text(self) -> bool:
        """Whether queries and keys are the same tokens: self-attention, masked or not, and no cross-attention."""
        return self.kind != "cross" and self.query_tokens == self.key_tokens

    def matrix(self, layer: int = MEAN, head: int = MEAN) -> NDArray[np.float32]:
        """The weights `[query, key]` of one layer and head, counted from 0; `MEAN` for the mean over all."""
        require_there("head", head, self.heads, least=MEAN)
        heads = slice(None) if head == MEAN else slice(head, head + 1)
        return np.asarray(self.weights[self.chosen(layer), heads].mean(axis=(0, 1)), dtype=np.float32)

    def chosen(self, layer: int) -> slice:
        """The layers that `layer` stands for; raises `InputError` when it is not there."""
        require_there("layer", layer, self.layers, least=MEAN)
        return slice(0, self.layers) if layer == MEAN else slice(layer, layer + 1)


Attentions = Mapping[str, Attention]
"""Attention by kind, the one to show first in front: `encoder`, `decoder`, `cross`."""


@dataclass(frozen=True)
class HeadRole:
    """The role of one head over one text: a name of `models.explain.head_roles.ROLES`, and its share of the weight."""

    layer: int
    head: int
    role: str
    share: float


@dataclass(frozen=True)
class SwitchedOff:
    """A head whose output is taken as zero, counted from 0 in the attention of `kind`; `MEAN`: all of the layer's."""

    kind: str
    layer: int
    head: int = MEAN


@dataclass(frozen=True)
class Attribution:
    """The attribution of one decision of the model to its tokens, by a method such as integrated gradients.

    `scores` are signed and in units of the logit. They sum to `value` − `baseline_value` + `delta`: the logit of
    `target` for the text, the same for a text of blanks, and the error of the approximation. `baseline` is the token
    that stood for each blank, empty for embeddings of zero or their mean.
    """

    tokens: tuple[Token, ...]
    scores: tuple[float, ...]
    target: str
    method: str
    delta: float
    value: float
    baseline_value: float
    baseline: str
    steps: int

    @property
    def first_kept(self) -> bool:
        """Whether the first word of the text was never blank, so that it has no score."""
        return not (self.tokens[0].is_mark or self.tokens[0].is_blank or self.scores[0])
