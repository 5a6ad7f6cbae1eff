"""The keys and values that one layer remembers, in a store with room for those to come."""

from torch import Tensor

_ROOM = 64


class KeyValues:
    """Grows by tokens; twice as much room is made when it is used up, so that most steps copy nothing."""

    def __init__(self) -> None:
        self._store: Tensor | None = None
        self.length = 0

    def add(self, new: Tensor) -> Tensor:
        """Remember `new` keys and values, `[2, row, head, token, width]`; all that are remembered, in that shape."""
        tokens = new.shape[3]
        length, store = self.length + tokens, self._store
        if store is None or length > store.shape[3]:
            _, rows, heads, _, width = new.shape
            roomier = new.new_empty(2, rows, heads, max(2 * length, _ROOM), width)
            if store is not None:
                roomier[:, :, :, : self.length] = store[:, :, :, : self.length]
            self._store = store = roomier
        store.narrow(3, self.length, tokens).copy_(new)
        self.length = length
        return store.narrow(3, 0, length)

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        store = self._store
        if store is None:
            return
        if len(rows) != store.shape[1]:
            self._store = store.new_empty(2, len(rows), *store.shape[2:])
            self._store[:, :, :, : self.length] = store[:, rows, :, : self.length]
        else:
            known = store.narrow(3, 0, self.length)
            known.copy_(known.index_select(1, rows))
