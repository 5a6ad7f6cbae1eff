"""What tokens find by one head of an encoder (Vaswani et al., 2017, section 3.2.1)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from models.kernels.arithmetic import exponential, largest_at
from models.kernels.encoder_layout import EncoderPass
from models.kernels.language import compiled
from models.kernels.layout import MOST_ROWS, OUTPUTS
from models.kernels.tiles import FEW, rows_of_next

_NEVER = np.float32(-3.0e38)
"""The score of no token."""

_OTHER = 2 * MOST_ROWS * OUTPUTS
"""Of the numbers of a thread's own, what a few rows take; keys, values and scores lie behind them."""


class Products(NamedTuple):
    """The steps of attention that depend on the numbers in which products are made.

    All are given addresses of room that they read and write as they like; of float32's size, `[row, narrow]` for
    queries, `[token, narrow]` for keys and for values.

    `lay_out(head, narrow, first, size, of, keys, values, spare)` lays out a text's keys, as tiles of 64 tokens of which
    the last may have 32, and its values; `spare` is room for as many numbers as `_OTHER` says.
    `ask(query, narrow, scale, queries, row)` keeps a query `[narrow]` times a scale. `wide` and `few` are products
    by a tile of 64 outputs and of 32 (see `tiles.py`), each number of which takes so many `bytes_each`.
    `shares(scores, room, size, rows, spare)` says where what values are multiplied by stands and how many there are of
    each row, which has so much `room`: float32 shares in the place of scores, or these rounded to `spare`, which is as
    much room. `keep(found, narrow, narrow, row, start)` keeps one row of what was found (see `numbers.py`).
    """

    lay_out: Callable[..., None]
    ask: Callable[..., None]
    wide: Callable[..., None]
    few: Callable[..., None]
    bytes_each: int
    shares: Callable[..., tuple[int, int]]
    keep: Callable[..., None]


@compiled
def _softmax(scores: Any, largest: np.float32) -> np.float32:
    """Powers of e of `scores` `[key]` below the `largest`, in their place; what they are to be divided by."""
    total = np.float32(0)
    for i in range(len(scores)):
        scores[i] = exponential(scores[i] - largest)
        total += scores[i]
    return total


def attention(by: Products) -> Callable[..., None]:
    """A function of one head and one text."""
    lay_out, ask, wide, few, bytes_each, shares, keep = by

    @compiled
    def score(queries: int, narrow: int, rows: int, keys: int, size: int, scores: int, room: int) -> None:
        """Scores of all keys, each row with so much `room`."""
        for start in range(0, size, OUTPUTS):
            at, to = keys + bytes_each * start * narrow, scores + 4 * start
            if size - start > FEW:
                wide(queries, narrow, narrow, rows, at, to, room, to)
            else:
                few(queries, narrow, narrow, rows, at, to, room, to)

    @compiled
    def attend(head: int, narrow: int, text: int, block: int, is_last: bool, of: EncoderPass, scratch: Any) -> None:
        """What the tokens of a `text` find by a `head` that is so `narrow`; of the last block those that are wanted.

        Where attention is to be seen, it is written down, and of the last block nothing else is needed.
        """
        first, size = of.first[text], of.sizes[text]
        most, room = (size + OUTPUTS - 1) // OUTPUTS * OUTPUTS, (size + FEW - 1) // FEW * FEW
        sums, queries = scratch[: MOST_ROWS * OUTPUTS], scratch[MOST_ROWS * OUTPUTS : _OTHER]
        keys, values = scratch[_OTHER:].ctypes.data, scratch[_OTHER + most * narrow :].ctypes.data
        scores = scratch[_OTHER + 2 * most * narrow :]
        spare = scores[MOST_ROWS * most :].ctypes.data
        lay_out(head, narrow, first, size, of, keys, values, scratch.ctypes.data)
        scale, is_seen = np.float32(1 / np.sqrt(np.float32(narrow))), len(of.seen) > 0
        done, asked = 0, of.asked[text] if is_last else size
        while done < asked:
            rows = rows_of_next(asked - done)
            for row in range(rows):
                token = of.wanted[of.asked_first[text] + done + row] if is_last else first + done + row
                ask(of.joint[token][head * narrow :], narrow, scale, queries.ctypes.data, row)
            score(queries.ctypes.data, narrow, rows, keys, size, scores.ctypes.data, room)
            for row in range(rows):
                own = scores[row * room :]
                for i in range(size, room):
                    own[i] = _NEVER
                total = _softmax(own[:size], largest_at(own.ctypes.data, room))
                share = np.float32(1) / total
                if is_seen:
                    seen = of.seen[block][(head * size + done + row) * size :]
                    for i in range(size):
                        seen[i] = own[i] * share
                # A query that nobody needs any more leaves its place.
                queries[row] = share
            if not (is_seen and is_last):
                at, count = shares(scores.ctypes.data, room, size, rows, spare)
                to = sums.ctypes.data
                if narrow == OUTPUTS:
                    wide(at, room, count, rows, values, to, narrow, to)
                else:
                    few(at, room, count, rows, values, to, narrow, to)
                for row in range(rows):
                    place = of.asked_first[text] + done + row if is_last else first + done + row
                    found, share = sums[row * narrow :], queries[row]
                    for i in range(narrow):
                        found[i] *= share
                    keep(found, narrow, narrow, of.found[place], head * narrow)
            done += rows

    return attend
