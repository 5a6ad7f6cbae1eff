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
    """What an `EncoderPass` begins with: of `first` to `types` it says what they are.

    Where somebody said what is wanted, `back` is where each of it stands among `wanted`. Where there was padding,
    `real` are the places of all tokens in the rows that they came in.
    """

    given: tuple[Counts, Counts, Counts, Counts, Counts, Counts, Counts, Counts]
    back: Counts | None
    real: Counts | None

    @property
    def sizes(self) -> Counts:
        """How many tokens each text has."""
        return self.given[1]

    @property
    def wanted(self) -> Counts:
        """The tokens that are wanted, in order."""
        return self.given[2]


def texts_of(ids: Tensor, types: Tensor | None, mask: Tensor | None, only: Sequence[int] | None) -> Texts:
    """Those of `ids` and `types` `[row, token]`, whose `mask` is 0 at padding.

    `only` are the places that are wanted, counted through all rows, in any order.
    """
    rows, tokens = ids.shape
    columns, one_text = _columns(rows, tokens)
    flat, of_texts = ids.reshape(-1).numpy(), one_text if types is None else types.reshape(-1).numpy()
    sizes, real = (tokens,) * rows, None
    if mask is not None:
        is_real = mask.reshape(-1).numpy() != 0
        if not is_real.all():
            real = is_real.nonzero()[0]
            sizes = tuple(is_real.reshape(rows, tokens).sum(axis=1).tolist())
            flat, columns, of_texts = flat[real], columns[real], of_texts[real]
    many, first, everything = _laid_out(sizes)
    inputs = (np.ascontiguousarray(flat, np.int64), columns, np.ascontiguousarray(of_texts, np.int64))
    if only is None:
        return Texts((first, many, everything, first, many, *inputs), None, real)
    places = np.array(only, np.int64)
    wanted, back = np.unique(places if real is None else np.searchsorted(real, places), return_inverse=True)
    asked_first = np.searchsorted(wanted, first)
    asked = np.searchsorted(wanted, first + many) - asked_first
    return Texts((first, many, wanted, asked_first, asked, *inputs), back, real)


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
    """After how many parts, counted from the first, each phase of a pass ends.

    Wide layers have so many tiles of 64 outputs (`wide`), all others `tiles`.
    """

    def phases(rows: int) -> list[int]:
        # A phase without parts would never end.
        norm = max(1, -(-rows // ROWS_OF_A_NORM))
        return [tiles, tiles, norm, wide, tiles, norm]

    parts = [-(-tokens // ROWS_OF_A_NORM), *phases(tokens) * (blocks - 1), *phases(wanted)]
    return np.cumsum(np.array(parts, np.int64))
