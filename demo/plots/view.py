"""One picture's worth of attention."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs import MEAN, Attentions, Token


@dataclass(frozen=True, eq=False)
class AttentionView:
    """The weights `[query, key]` of one kind, layer and head (`MEAN`: the mean), and what else could be chosen.

    `masked` is bool `[query, key]`; `kinds` are all that the run has, `layers` and `heads` the numbers of this kind.
    """

    kind: str
    layer: int
    head: int
    weights: NDArray[np.float32]
    masked: NDArray[np.bool_]
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    kinds: tuple[str, ...]
    layers: int
    heads: int


def view_of(attentions: Attentions, kind: str = "", layer: int = MEAN, head: int = MEAN) -> AttentionView:
    """The view that was asked for; a kind, layer or head that this run has not becomes the first kind or the mean."""
    kind = kind if kind in attentions else next(iter(attentions))
    attention = attentions[kind]
    layer = layer if MEAN <= layer < attention.layers else MEAN
    head = head if MEAN <= head < attention.heads else MEAN
    return AttentionView(
        kind,
        layer,
        head,
        attention.matrix(layer, head),
        attention.masked,
        attention.query_tokens,
        attention.key_tokens,
        tuple(attentions),
        attention.layers,
        attention.heads,
    )
