"""The blocks of BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019) over several texts, as one call."""

from typing import Any

import numpy as np

from models.kernels.arithmetic import exponential, gelu_exactly, largest_at, norm_in_place, rounded
from models.kernels.encoder_layout import PHASES, ROWS_OF_A_NORM, EncoderPass, EncoderWeights
from models.kernels.language import compiled
from models.kernels.layout import OUTPUTS
from models.kernels.records import (
    block_of_halves,
    counts,
    floats,
    matrix_of_floats,
    matrix_of_halves,
    record_at,
    table_of_floats,
)
from models.kernels.sharing import NOTHING, ends_phase, open_to, taken, wait_for_all, wait_for_phase
from models.kernels.tiles import by_few_floats, by_floats, by_pairs, rows_of_next

_MOST_ROWS = 6
"""Of one tile."""

_FETCHED, _STEPS = 32, 4
"""Bytes that a tile's product fetches for each of its inputs, and how many such products fetch a tile."""

_NEVER = np.float32(-3.0e38)
"""The score of no token."""

_ADD, _SET, _ACTIVATE = 0, 1, 2
"""What becomes of a product: it is added to what was there, or set as it is, or rounded behind the activation."""


@compiled
def _weights(at: int) -> EncoderWeights:
    record = record_at(at, 16)
    return EncoderWeights(
        block_of_halves(record, 0), block_of_halves(record, 1), block_of_halves(record, 2), block_of_halves(record, 3),
        matrix_of_floats(record, 4), matrix_of_floats(record, 5), matrix_of_floats(record, 6),
        matrix_of_floats(record, 7), table_of_floats(record, 8), matrix_of_floats(record, 9), floats(record, 10),
        matrix_of_floats(record, 11), matrix_of_floats(record, 12), matrix_of_floats(record, 13),
        matrix_of_floats(record, 14), floats(record, 15),
    )  # fmt: skip


@compiled
def _pass(at: int) -> EncoderPass:
    record = record_at(at, 16)
    return EncoderPass(
        counts(record, 0), counts(record, 1), counts(record, 2), counts(record, 3), counts(record, 4),
        counts(record, 5), counts(record, 6), counts(record, 7), counts(record, 8), counts(record, 9),
        matrix_of_floats(record, 10), matrix_of_halves(record, 11), matrix_of_floats(record, 12),
        matrix_of_halves(record, 13), matrix_of_halves(record, 14), matrix_of_floats(record, 15),
    )  # fmt: skip


@compiled
def _round(x: Any, to: Any) -> None:
    for i in range(len(x)):
        to[i] = rounded(x[i])


@compiled
def _product(
    x: Any, rows: int, tile: Any, bias: Any, to: Any, start: int, sums: Any, then: int, inner: Any, ahead: int
) -> None:
    """What the first `rows` of `x` `[token, in]` make by a `tile` `[in, 64]` and its `bias` `[64]`.

    It stands in `to` `[token, out]` from `start` on, or behind the activation so in `inner`, in bfloat16.
    """
    first, count = 0, x.shape[1]
    while first < rows:
        some = rows_of_next(rows - first)
        # A tile of the same size is fetched by the first 24 rows; later ones fetch what is there.
        far = ahead + first * count * _FETCHED // _MOST_ROWS if first < _MOST_ROWS * _STEPS else tile.ctypes.data
        by_pairs(x[first].ctypes.data, count, count, some, tile.ctypes.data, sums.ctypes.data, OUTPUTS, far)
        for row in range(some):
            found = sums[row * OUTPUTS :]
            if then == _ACTIVATE:
                rounding = inner[first + row][start:]
                for i in range(OUTPUTS):
                    rounding[i] = rounded(gelu_exactly(found[i] + bias[i]))
            elif then == _ADD:
                here = to[first + row][start:]
                for i in range(OUTPUTS):
                    here[i] += found[i] + bias[i]
            else:
                here = to[first + row][start:]
                for i in range(OUTPUTS):
                    here[i] = found[i] + bias[i]
        first += some


@compiled
def _softmax(scores: Any, largest: np.float32) -> np.float32:
    """Powers of e of `scores` `[key]` below the `largest`, in their place; what they are to be divided by."""
    total = np.float32(0)
    for i in range(len(scores)):
        scores[i] = exponential(scores[i] - largest)
        total += scores[i]
    return total


@compiled
def _attend(head: int, text: int, is_last: bool, weights: EncoderWeights, of: EncoderPass, scratch: Any) -> None:
    """What the tokens of a `text` find by one `head` (Vaswani et al., 2017, section 3.2.1); of the last block only
    those that are wanted."""
    width, narrow = of.x.shape[1], len(weights.head)
    first, size = of.first[text], of.sizes[text]
    tiles = (size + OUTPUTS - 1) // OUTPUTS
    room = tiles * OUTPUTS
    sums = scratch[: _MOST_ROWS * OUTPUTS]
    queries = scratch[_MOST_ROWS * OUTPUTS : 2 * _MOST_ROWS * OUTPUTS]
    keys = scratch[2 * _MOST_ROWS * OUTPUTS :][: room * narrow]
    values = scratch[2 * _MOST_ROWS * OUTPUTS + room * narrow :][: size * narrow]
    scores = scratch[2 * _MOST_ROWS * OUTPUTS + 2 * room * narrow :]
    for token in range(size):
        value = of.joint[first + token][2 * width + head * narrow :]
        for i in range(narrow):
            values[token * narrow + i] = value[i]
    for tile in range(tiles):
        here = keys[tile * OUTPUTS * narrow :]
        start = tile * OUTPUTS
        some = min(OUTPUTS, size - start)
        for i in range(narrow):
            for token in range(some):
                here[i * OUTPUTS + token] = of.joint[first + start + token, width + head * narrow + i]
            for token in range(some, OUTPUTS):
                here[i * OUTPUTS + token] = np.float32(0)
    scale = np.float32(1 / np.sqrt(np.float32(narrow)))
    done, asked = 0, of.asked[text] if is_last else size
    while done < asked:
        rows = rows_of_next(asked - done)
        for row in range(rows):
            token = of.wanted[of.asked_first[text] + done + row] if is_last else first + done + row
            query = of.joint[token][head * narrow :]
            for i in range(narrow):
                queries[row * narrow + i] = query[i] * scale
        for tile in range(tiles):
            at = keys[tile * OUTPUTS * narrow :]
            to = scores[tile * OUTPUTS :].ctypes.data
            by_floats(queries.ctypes.data, narrow, narrow, rows, at.ctypes.data, to, room, to)
        for row in range(rows):
            # Its sum takes the place of a query that nobody needs any more.
            own = scores[row * room :]
            for i in range(size, room):
                own[i] = _NEVER
            queries[row] = _softmax(own[:size], largest_at(own.ctypes.data, room))
        from_, to = scores.ctypes.data, sums.ctypes.data
        if narrow == OUTPUTS:
            by_floats(from_, room, size, rows, values.ctypes.data, to, narrow, to)
        else:
            by_few_floats(from_, room, size, rows, values.ctypes.data, to, narrow, to)
        for row in range(rows):
            place = of.asked_first[text] + done + row if is_last else first + done + row
            to, total = of.found[place][head * narrow :], queries[row]
            for i in range(narrow):
                to[i] = rounded(sums[row * narrow + i] / total)
        done += rows


@compiled
def _embed(part: int, weights: EncoderWeights, of: EncoderPass) -> None:
    """The embeddings of the tokens of a `part`."""
    for token in range(part * ROWS_OF_A_NORM, min((part + 1) * ROWS_OF_A_NORM, len(of.x))):
        x, word, place = of.x[token], weights.words[of.ids[token]], weights.places[of.columns[token]]
        for i in range(len(x)):
            x[i] = word[i] + place[i]
        if len(weights.texts) > 0:
            text = weights.texts[of.types[token]]
            for i in range(len(x)):
                x[i] += text[i]
        norm_in_place(x, weights.norm[0], weights.norm[1], weights.epsilon[0])
        _round(x, of.rounded[token])


@compiled
def _keep_wanted(of: EncoderPass) -> None:
    """Let `x` begin with what is wanted; no row goes to one behind it, so that none is lost before its turn."""
    for place in range(len(of.wanted)):
        here, there = of.x[place], of.x[of.wanted[place]]
        for i in range(len(here)):
            here[i] = there[i]


@compiled
def _next(phase: int, part: int, third: int, weights: EncoderWeights) -> Any:
    """The tile that the same thread will probably need behind that of a `part` of a `phase`.

    The first phase of a block has three tiles for each part.
    """
    block, kind, tile, heads = (phase - 1) // PHASES, (phase - 1) % PHASES, part + 2, weights.together.shape[1]
    if kind == 0:
        if third < 2:
            return weights.joint[block][part + (third + 1) * heads]
        if tile < heads:
            return weights.joint[block][tile]
        kind, tile = 1, tile - heads
    if kind == 1:
        if tile < weights.together.shape[1]:
            return weights.together[block][tile]
        kind, tile = 3, tile - weights.together.shape[1]
    if kind == 3:
        if tile < weights.wide.shape[1]:
            return weights.wide[block][tile]
        kind, tile = 4, tile - weights.wide.shape[1]
    if tile < weights.narrow.shape[1]:
        return weights.narrow[block][tile]
    return weights.joint[min(block + 1, len(weights.joint) - 1)][0]


@compiled
def _do(phase: int, part: int, weights: EncoderWeights, of: EncoderPass, scratch: Any) -> None:
    """One `part` of a `phase`, counted from 0."""
    if phase == 0:
        _embed(part, weights, of)
        return
    block, kind = (phase - 1) // PHASES, (phase - 1) % PHASES
    is_last = block == len(weights.joint) - 1
    start, width, rows = part * OUTPUTS, of.x.shape[1], len(of.wanted) if is_last else len(of.x)
    if kind == 0:
        for third in range(3):
            tile, here = third * (width // OUTPUTS) + part, third * width + start
            _product(
                of.rounded, len(of.x), weights.joint[block][tile], weights.joint_bias[block][here:], of.joint,
                here, scratch, _SET, of.inner,
                _next(phase, part, third, weights).ctypes.data,
            )  # fmt: skip
        heads = OUTPUTS // len(weights.head)
        for head in range(part * heads, (part + 1) * heads):
            for text in range(len(of.first)):
                _attend(head, text, is_last, weights, of, scratch)
    elif kind == 1:
        tile, bias = weights.together[block][part], weights.together_bias[block][start:]
        _product(
            of.found, rows, tile, bias, of.x, start, scratch, _ADD, of.inner, _next(phase, part, 2, weights).ctypes.data
        )
    elif kind == 3:
        tile, bias = weights.wide[block][part], weights.wide_bias[block][start:]
        _product(
            of.rounded,
            rows,
            tile,
            bias,
            of.x,
            start,
            scratch,
            _ACTIVATE,
            of.inner,
            _next(phase, part, 2, weights).ctypes.data,
        )
    elif kind == 4:
        tile, bias = weights.narrow[block][part], weights.narrow_bias[block][start:]
        _product(
            of.inner, rows, tile, bias, of.x, start, scratch, _ADD, of.inner, _next(phase, part, 2, weights).ctypes.data
        )
    else:
        which = 0 if kind == 2 else 1
        norms, epsilon = weights.norms[block], weights.epsilons[block, which]
        for row in range(part * ROWS_OF_A_NORM, min((part + 1) * ROWS_OF_A_NORM, rows)):
            norm_in_place(of.x[row], norms[2 * which], norms[2 * which + 1], epsilon)
            _round(of.x[row], of.rounded[row])


@compiled
def share(weights_at: int, pass_at: int, number: int) -> None:
    """Take part in a pass as the thread of this `number` until nothing is left; thread 0 leads."""
    weights, of = _weights(weights_at), _pass(pass_at)
    scratch, total, phase = of.scratch[number], of.ends[-1], 0
    if number == 0:
        open_to(of.counts, of.ends[0])
    while True:
        part = taken(of.counts, total)
        if part == NOTHING:
            break
        while part >= of.ends[phase]:
            phase += 1
        start = of.ends[phase - 1] if phase else 0
        wait_for_phase(of.counts, part)
        _do(phase, part - start, weights, of, scratch)
        if ends_phase(of.counts) and phase + 1 < len(of.ends):
            if phase + 1 == len(of.ends) - PHASES + 1:
                _keep_wanted(of)
            open_to(of.counts, of.ends[phase + 1])
    if number == 0:
        wait_for_all(of.counts, total)
