"""What a decoder has read and written so far."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.decoding.scores import Best, best_of
from models.engine import Engine


class DecoderState:
    """Rows of ids that grow together, from `ids` `[row, token]` on.

    With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once.
    """

    def __init__(self, engine: Engine, ids: Tensor, source: Tensor | None = None) -> None:
        self.rows: list[list[int]] = ids.tolist()
        self._text = engine.start(None if source is None else source.cpu().numpy())
        self._unread = ids.cpu().numpy()

    @property
    def ids(self) -> Tensor:
        """All rows, `[row, token]`."""
        return torch.tensor(self.rows)

    def next_best(self) -> Best:
        """Read what has not been read yet; what every row says of its next token."""
        return best_of(torch.from_numpy(self._text.read(self._unread)))

    def append(self, ids: Sequence[int]) -> None:
        """Write one id at the end of each row."""
        for row, new in zip(self.rows, ids, strict=True):
            row.append(new)
        self._unread = np.array(ids, dtype=np.int64)[:, None]

    def reorder(self, rows: Sequence[int]) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        if list(rows) == list(range(len(self.rows))):
            return
        self._text.reorder(rows)
        self.rows = [list(self.rows[row]) for row in rows]
