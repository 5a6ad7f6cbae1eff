"""The keys and values that one layer remembers, in a store with room for those to come."""

import torch
from torch import Tensor

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

    def reorder(self, rows: Tensor, alike: int = 0) -> None:
        """Row i becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
        store = self._store
        if store is None:
            return
        if len(rows) != store.shape[1]:
            self._store = store.new_empty(2, len(rows), *store.shape[2:])
            self._store[:, :, :, : self.length] = store[:, rows, :, : self.length]
        elif alike < self.length:
            apart = store.narrow(3, alike, self.length - alike)
            apart.copy_(apart.index_select(1, rows))
