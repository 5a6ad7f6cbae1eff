"""Attention, the roles of its heads, heads that are switched off, and attribution."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import require_there
from models.outputs.base import Token

MEAN = -1
"""The layer or head number that stands for all of them; pictures and tables show their mean."""


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
        """Whether this is self-attention, masked or not: queries and keys are the same tokens."""
        return self.kind != "cross" and self.query_tokens == self.key_tokens

    def matrix(self, layer: int = MEAN, head: int = MEAN) -> NDArray[np.float32]:
        """The weights `[query, key]` of one layer and head, counted from 0; `MEAN` for the mean over all."""
        require_there("head", head, self.heads, least=MEAN)
        heads = slice(None) if head == MEAN else slice(head, head + 1)
        return np.asarray(self.weights[self.chosen(layer), heads].mean(axis=(0, 1)), dtype=np.float32)

    def chosen(self, layer: int) -> slice:
        """Return the layers that `layer` stands for, all for `MEAN`; raises `InputError` if there is no such layer."""
        require_there("layer", layer, self.layers, least=MEAN)
        return slice(0, self.layers) if layer == MEAN else slice(layer, layer + 1)


Attentions = Mapping[str, Attention]
"""Attention by kind (`encoder`, `decoder`, `cross`), the kind to show first in front."""


@dataclass(frozen=True)
class HeadRole:
    """The role of a head over one text, out of `models.explain.head_roles.ROLES`, and its share of the weight."""

    layer: int
    head: int
    role: str
    share: float


@dataclass(frozen=True)
class SwitchedOff:
    """A head in the attention of `kind` whose output is set to zero, counted from 0; `MEAN`: all heads of the layer."""

    kind: str
    layer: int
    head: int = MEAN


@dataclass(frozen=True)
class Attribution:
    """The attribution of one decision of the model to the tokens it read, by a method such as integrated gradients.

    `scores` are signed and in units of the logit. They sum to `value` − `baseline_value` + `delta`: the logit of
    `target` for the text, the same for a text of blanks, and the error of the approximation. `baseline` is the token
    that stood for each blank; it is empty if the blanks were zero or mean embeddings.
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
        """Whether the baseline kept the first token of the text, which then has no score."""
        return not (self.tokens[0].is_mark or self.tokens[0].is_blank or self.scores[0])
