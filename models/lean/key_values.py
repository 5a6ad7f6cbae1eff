"""The keys and values that one layer remembers, in a store with room for those to come."""

import torch
from torch import Tensor

_ROOM = 64


class KeyValues:
    """Grows by tokens; twice as much room is made when it is used up, so that most steps copy nothing."""

    def __init__(self) -> None:
        self._store: Tensor | None = None
        self.length = 0

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Remember `keys` and `values` `[row, head, token, width]`; all that are remembered now, in the same shape."""
        rows, heads, new, width = keys.shape
        length = self.length + new
        store = self._store
        if store is None or length > store.shape[3]:
            roomier = keys.new_empty(2, rows, heads, max(2 * length, _ROOM), width)
            if store is not None:
                roomier[:, :, :, : self.length] = store[:, :, :, : self.length]
            self._store = store = roomier
        store[0, :, :, self.length : length] = keys
        store[1, :, :, self.length : length] = values
        self.length = length
        return store[0, :, :, :length], store[1, :, :, :length]

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        if self._store is not None:
            known = self._store[:, rows, :, : self.length]
            self._store = torch.empty((2, len(rows), *self._store.shape[2:]), dtype=known.dtype, device=known.device)
            self._store[:, :, :, : self.length] = known
