"""What tokens find by one head of an encoder (Vaswani et al., 2017, section 3.2.1)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from models.kernels.arithmetic import exponential, largest_at
from models.kernels.encoder_layout import EncoderPass
from models.kernels.language import compiled
from models.kernels.layout import MOST_ROWS, OUTPUTS
from models.kernels.tiles import by_few_floats, by_floats, rows_of_next

_NEVER = np.float32(-3.0e38)
"""The score of no token."""

_OTHER = 2 * MOST_ROWS * OUTPUTS
"""Of the numbers of a thread's own, what a few rows take; keys, values and scores lie behind them."""


@compiled
def _softmax(scores: Any, largest: np.float32) -> np.float32:
    """Powers of e of `scores` `[key]` below the `largest`, in their place; what they are to be divided by."""
    total = np.float32(0)
    for i in range(len(scores)):
        scores[i] = exponential(scores[i] - largest)
        total += scores[i]
    return total


@compiled
def _lay_out(head: int, narrow: int, first: int, size: int, of: EncoderPass, keys: Any, values: Any) -> None:
    """The `keys` of a text as tiles `[tile, narrow, 64]`, filled up with zeros, and its `values` `[token, narrow]`."""
    width = of.x.shape[1]
    for token in range(size):
        value = of.joint[first + token][2 * width + head * narrow :]
        for i in range(narrow):
            values[token * narrow + i] = value[i]
    for start in range(0, size, OUTPUTS):
        here, some = keys[start * narrow :], min(OUTPUTS, size - start)
        for i in range(narrow):
            for token in range(some):
                here[i * OUTPUTS + token] = of.joint[first + start + token, width + head * narrow + i]
            for token in range(some, OUTPUTS):
                here[i * OUTPUTS + token] = np.float32(0)


def attention(keep: Callable[..., None]) -> Callable[..., None]:
    """A function of one head and one text; what tokens find is kept in other numbers (see `numbers.py`)."""

    @compiled
    def attend(head: int, narrow: int, text: int, block: int, is_last: bool, of: EncoderPass, scratch: Any) -> None:
        """What the tokens of a `text` find by a `head` that is so `narrow`; of the last block those that are wanted.

        Where attention is to be seen, it is written down, and of the last block nothing else is needed.
        """
        first, size = of.first[text], of.sizes[text]
        room = (size + OUTPUTS - 1) // OUTPUTS * OUTPUTS
        sums, queries = scratch[: MOST_ROWS * OUTPUTS], scratch[MOST_ROWS * OUTPUTS : _OTHER]
        keys, values = scratch[_OTHER:][: room * narrow], scratch[_OTHER + room * narrow :][: size * narrow]
        scores = scratch[_OTHER + 2 * room * narrow :]
        _lay_out(head, narrow, first, size, of, keys, values)
        scale, is_seen = np.float32(1 / np.sqrt(np.float32(narrow))), len(of.seen) > 0
        done, asked = 0, of.asked[text] if is_last else size
        while done < asked:
            rows = rows_of_next(asked - done)
            for row in range(rows):
                token = of.wanted[of.asked_first[text] + done + row] if is_last else first + done + row
                query = of.joint[token][head * narrow :]
                for i in range(narrow):
                    queries[row * narrow + i] = query[i] * scale
            for start in range(0, size, OUTPUTS):
                at, to = keys[start * narrow :].ctypes.data, scores[start:].ctypes.data
                by_floats(queries.ctypes.data, narrow, narrow, rows, at, to, room, to)
            for row in range(rows):
                own = scores[row * room :]
                for i in range(size, room):
                    own[i] = _NEVER
                total = _softmax(own[:size], largest_at(own.ctypes.data, room))
                if is_seen:
                    seen = of.seen[block][(head * size + done + row) * size :]
                    for i in range(size):
                        seen[i] = own[i] / total
                # A query that nobody needs any more leaves its place.
                queries[row] = total
            if not (is_seen and is_last):
                at, to = scores.ctypes.data, sums.ctypes.data
                if narrow == OUTPUTS:
                    by_floats(at, room, size, rows, values.ctypes.data, to, narrow, to)
                else:
                    by_few_floats(at, room, size, rows, values.ctypes.data, to, narrow, to)
                for row in range(rows):
                    place = of.asked_first[text] + done + row if is_last else first + done + row
                    found, share = sums[row * narrow :], np.float32(1) / queries[row]
                    for i in range(narrow):
                        found[i] *= share
                    keep(found, narrow, narrow, of.found[place], head * narrow)
            done += rows

    return attend
