"""The keys and values that a text's readers remember, in a store with room for those to come."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.lean.decoder_pass import Texts
from models.scripted import scripted

_ROOM = 64


class Remembered:
    """What a reader remembers of one text: the keys and values of all `layers`.

    Grows by tokens; twice as much room is made when it is used up, so that most steps copy nothing.
    """

    def __init__(self, layers: int) -> None:
        self.length = 0
        """How many tokens."""
        self.filled: Tensor | None = None
        self._layers = layers
        self._rows: list[int] = []
        self._alike = 0

    def store(self, rows: int, heads: int, new: int, width: int, like: Tensor) -> Tensor:
        """Where all keys and values stand, `[layer, 2, row, head, token, width]`, with room for `new` tokens.

        Whoever fills it says so by a greater `length`.
        """
        length, store = self.length + new, self.filled
        if store is None or length > store.shape[4]:
            size = (self._layers, 2, rows, heads, max(2 * length, _ROOM), width)
            roomier = torch.empty(size, dtype=like.dtype, device=like.device)
            if store is not None:
                roomier[..., : self.length, :] = store[..., : self.length, :]
            self.filled = store = roomier
        return store

    def reorder(self, rows: Sequence[int], alike: int) -> None:
        """Row i becomes what row `rows[i]` was, of whose first `alike` tokens all are the same, with the next pass."""
        self._alike = min(alike, self._alike) if self._rows else alike
        self._rows = [self._rows[row] for row in rows] if self._rows else list(rows)

    def take_order(self) -> tuple[list[int], int] | None:
        """Which rows are to be exchanged for which from which token on, if there is anything to exchange; only once."""
        rows, self._rows = self._rows, []
        if self.filled is None or not rows:
            return None
        if len(rows) != self.filled.shape[2]:
            self._repeat(self.filled, rows)
            return None
        return (rows, self._alike) if self._alike < self.length else None

    def _repeat(self, filled: Tensor, rows: Sequence[int]) -> None:
        """The rows that were there become these, which may be more or fewer."""
        self.filled = filled.new_empty(*filled.shape[:2], len(rows), *filled.shape[3:])
        self.filled[..., : self.length, :] = filled[:, :, list(rows), :, : self.length]


def exchange(texts: Sequence[Remembered]) -> None:
    """Let all rows be where they are to be, before they are read."""
    stores: list[Tensor] = []
    rows, starts, ends = [], [], []
    for text in texts:
        order = text.take_order()
        if order and text.filled is not None:
            stores.append(text.filled)
            rows.append(order[0])
            starts.append(order[1])
            ends.append(text.length)
    if rows:
        _exchange(stores, rows, starts, ends)


@scripted
def _exchange(stores: list[Tensor], rows: list[list[int]], starts: list[int], ends: list[int]) -> None:
    for text in range(len(rows)):
        places = torch.tensor(rows[text], device=stores[0].device)
        apart = stores[text].narrow(4, starts[text], ends[text] - starts[text])
        apart.copy_(apart.index_select(2, places))


def texts_of(
    remembered: Sequence[Remembered],
    ids: Sequence[Tensor],
    wanted: Sequence[int],
    heads: int,
    like: Tensor,
) -> Texts:
    """The texts whose new tokens are `ids` `[row, token]`, with room for them in what is `remembered` in each layer.

    What follows is `wanted` behind so many of the last of them. Keys and values are numbers as those of `like`
    `[..., heads * width]`.
    """
    exchange(remembered)
    width, lengths = like.shape[-1] // heads, [text.length for text in remembered]
    rows, tokens = [len(each) for each in ids], [each.shape[1] for each in ids]
    stores = [
        text.store(lines, heads, new, width, like) for text, lines, new in zip(remembered, rows, tokens, strict=True)
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
