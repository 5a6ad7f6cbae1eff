"""One picture's worth of attention."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.explain.aggregation import reduce
from models.explain.opening import Opening
from models.outputs import MEAN, Attentions, Token


@dataclass(frozen=True, eq=False)
class AttentionView:
    """The weights `[query, key]` of one kind, and what else could be chosen.

    `how` is one of `models.explain.aggregation.WAYS`; `layer` and `head` count from 0, and `MEAN` stands for all.
    `masked` is bool `[query, key]`; `kinds` are all that the run has, `layers` and `heads` the numbers of this kind.
    `token` is the place among the queries of the one to begin with, -1 where none is known; `key` that of the token
    that it looks at in the head which `models.explain.opening` found to say most, and `telling` whether this is it.
    `left_out` names what `NOT_SHOWN` stands for.
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
    how: str = "mean"
    token: int = -1
    key: int = -1
    telling: bool = False
    left_out: str = ""

    @property
    def two_texts(self) -> bool:
        """Whether the queries are tokens of another text than the keys."""
        return self.kind == "cross"

    @property
    def of_one_head(self) -> bool:
        """Whether the weights are those of a single head."""
        return self.how == "head" and self.layer != MEAN and self.head != MEAN


def view_of(
    attentions: Attentions,
    kind: str = "",
    layer: int = MEAN,
    head: int = MEAN,
    how: str = "head",
    opened: Opening | None = None,
) -> AttentionView:
    """The view that was asked for; a kind, layer or head that this run has not becomes the first kind or the mean.

    So does the rollout of attention between two texts, which has none. `opened` says which token to begin with.
    """
    kind = kind if kind in attentions else next(iter(attentions))
    attention = attentions[kind]
    layer = layer if MEAN <= layer < attention.layers else MEAN
    head = head if MEAN <= head < attention.heads else MEAN
    if how == "rollout" and not attention.within_one_text:
        how = "mean"
    if how != "head":
        head = MEAN
    elif layer == MEAN and head == MEAN:
        how = "mean"
    return AttentionView(
        kind,
        layer,
        head,
        reduce(attention, how, layer, head),
        attention.masked,
        attention.query_tokens,
        attention.key_tokens,
        tuple(attentions),
        attention.layers,
        attention.heads,
        how,
        opened.query if opened else -1,
        opened.key if opened else -1,
        opened is not None and how == "head" and (layer, head) == (opened.layer, opened.head),
    )
