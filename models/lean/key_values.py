"""The keys and values that one layer remembers, in a store with room for those to come."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.lean.decoder_pass import Texts
from models.scripted import scripted

_ROOM = 64


class KeyValues:
    """Grows by tokens; twice as much room is made when it is used up, so that most steps copy nothing."""

    def __init__(self) -> None:
        self._store: Tensor | None = None
        self.length = 0

    def store(self, rows: int, heads: int, new: int, width: int, like: Tensor) -> Tensor:
        """Where all keys and values stand, `[2, row, head, token, width]`, with room for `new` tokens behind `length`.

        Whoever fills it says so by a greater `length`.
        """
        length, store = self.length + new, self._store
        if store is None or length > store.shape[3]:
            roomier = torch.empty(2, rows, heads, max(2 * length, _ROOM), width, dtype=like.dtype, device=like.device)
            if store is not None:
                roomier[:, :, :, : self.length] = store[:, :, :, : self.length]
            self._store = store = roomier
        return store

    def repeat(self, rows: Tensor) -> Tensor | None:
        """The store as far as it is filled; where there are not as many rows in it as `rows`, it becomes these."""
        store = self._store
        if store is None or len(rows) == store.shape[1]:
            return store
        self._store = store.new_empty(2, len(rows), *store.shape[2:])
        self._store[:, :, :, : self.length] = store[:, rows, :, : self.length]
        return None


def exchange(remembered: Sequence[KeyValues], rows: Tensor, alike: int = 0) -> None:
    """Row i of all becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
    stores = [store for store in (each.repeat(rows) for each in remembered) if store is not None]
    if stores and alike < remembered[0].length:
        _exchange(stores, rows, alike, remembered[0].length)


@scripted
def _exchange(stores: list[Tensor], rows: Tensor, start: int, end: int) -> None:
    for store in stores:
        apart = store.narrow(3, start, end - start)
        apart.copy_(apart.index_select(1, rows))


def grow(remembered: Sequence[Sequence[KeyValues]], tokens: Sequence[int]) -> None:
    """So many `tokens` more stand in each text's stores."""
    for text, new in zip(remembered, tokens, strict=True):
        for each in text:
            each.length += new


def forget(remembered: Sequence[KeyValues], tokens: int) -> None:
    """The last so many `tokens` were not read after all."""
    for each in remembered:
        each.length -= tokens


def texts_of(
    remembered: Sequence[Sequence[KeyValues]],
    ids: Sequence[Tensor],
    wanted: Sequence[int],
    heads: int,
    like: Tensor,
) -> Texts:
    """The texts whose new tokens are `ids` `[row, token]`, with room for them in what is `remembered` in each layer.

    What follows is `wanted` behind so many of the last of them. Keys and values are numbers as those of `like`
    `[..., heads * width]`.
    """
    width, lengths = like.shape[-1] // heads, [layers[0].length for layers in remembered]
    rows, tokens = [len(each) for each in ids], [each.shape[1] for each in ids]
    stores = [
        layers[number].store(lines, heads, new, width, like)
        for number in range(len(remembered[0]))
        for layers, lines, new in zip(remembered, rows, tokens, strict=True)
    ]
    masks = [_mask(before, new, like) for before, new in zip(lengths, tokens, strict=True)]
    return Texts(rows, tokens, list(wanted), lengths, stores, masks)


def rows_of(texts: Texts) -> int:
    """How many rows of scores all of them want."""
    return sum(lines * behind for lines, behind in zip(texts.rows, texts.wanted, strict=True))


def _mask(before: int, new: int, like: Tensor) -> Tensor:
    """What keeps `new` tokens behind so many `before` them from those that follow each, if it is needed."""
    if not before or new == 1:
        return like.new_empty(0)
    return like.new_full((new, before + new), float("-inf")).triu_(before + 1)
