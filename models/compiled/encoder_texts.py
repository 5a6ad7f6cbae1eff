"""Texts as a compiled encoder is given them: one behind the other, without padding."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.kernels.encoder_layout import ROWS_OF_A_NORM

Counts = NDArray[np.int64]


class Texts(NamedTuple):
    """What `EncoderPass` says of texts; `back` is where what is wanted stands among `wanted`, where somebody said so.

    `seen` are the places of all tokens in the rows that they came in, where these had padding.
    """

    first: Counts
    sizes: Counts
    wanted: Counts
    asked_first: Counts
    asked: Counts
    ids: Counts
    columns: Counts
    types: Counts
    back: Counts | None
    seen: Counts | None


def texts_of(ids: Tensor, types: Tensor | None, mask: Tensor | None, only: Sequence[int] | None) -> Texts:
    """Those of `ids` and `types` `[row, token]`, whose `mask` is 0 at padding.

    `only` are the places that are wanted, counted through all rows, in any order.
    """
    rows, tokens = ids.shape
    columns, one_text = _columns(rows, tokens)
    flat, of_texts = ids.reshape(-1).numpy(), one_text if types is None else types.reshape(-1).numpy()
    sizes, seen = (tokens,) * rows, None
    if mask is not None:
        real = mask.reshape(-1).numpy() != 0
        if not real.all():
            seen = real.nonzero()[0]
            sizes = tuple(real.reshape(rows, tokens).sum(axis=1).tolist())
            flat, columns, of_texts = flat[seen], columns[seen], of_texts[seen]
    many, first, everything = _laid_out(sizes)
    inputs = (np.ascontiguousarray(flat, np.int64), columns, np.ascontiguousarray(of_texts, np.int64))
    if only is None:
        return Texts(first, many, everything, first, many, *inputs, None, seen)
    wanted, back = np.unique(only if seen is None else np.searchsorted(seen, only), return_inverse=True)
    asked_first = np.searchsorted(wanted, first)
    asked = np.searchsorted(wanted, first + many) - asked_first
    return Texts(first, many, wanted, asked_first, asked, *inputs, back, seen)


@lru_cache(1024)
def _columns(rows: int, tokens: int) -> tuple[Counts, Counts]:
    """The places of the tokens of so many rows in these, and of which text they are where there is only one."""
    return np.tile(np.arange(tokens), rows), np.zeros(rows * tokens, np.int64)


@lru_cache(1024)
def _laid_out(sizes: tuple[int, ...]) -> tuple[Counts, Counts, Counts]:
    """The sizes of texts, where they begin, and the places of all their tokens."""
    many = np.array(sizes, np.int64)
    first = many.cumsum() - many
    return many, first, np.arange(many.sum())


@lru_cache(1024)
def ends_of(blocks: int, tiles: int, wide: int, tokens: int, wanted: int) -> Counts:
    """After how many parts, counted from the first, each phase of a pass ends; of tiles of 64, `wide` have the wide
    layers and so many `tiles` all others."""

    def phases(rows: int) -> list[int]:
        norm = -(-rows // ROWS_OF_A_NORM)
        return [tiles, tiles, norm, wide, tiles, norm]

    parts = [-(-tokens // ROWS_OF_A_NORM), *phases(tokens) * (blocks - 1), *phases(wanted)]
    return np.cumsum(np.array(parts, np.int64))
