"""What a decoder has read and written so far."""

from collections.abc import Sequence

import numpy as np

from models.engine import Engine, Ids, Logits


class DecoderState:
    """Rows of ids that grow together, from `ids` `[row, token]` on.

    With `source` (`[1, token]`) the network is an encoder-decoder that reads the source once.
    """

    def __init__(self, engine: Engine, ids: Ids, source: Ids | None = None) -> None:
        self.rows: list[list[int]] = ids.tolist()
        self._text = engine.start(source)
        self._unread = ids

    def next_logits(self) -> Logits:
        """Read what has not been read yet; the logits `[row, vocabulary]` of every row's next token."""
        return self._text.read(self._unread)

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
