"""GPT-2's blocks (Radford et al., 2019) over several texts' new tokens, and their scores, as one call."""

from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from models.kernels.arithmetic import exponential, gelu, norm
from models.kernels.decoder_layout import HEAD_WIDTH, PHASES, TILES_OF_WORDS, Pass, Weights
from models.kernels.language import compiled
from models.kernels.layout import MOST_ROWS, OUTPUTS
from models.kernels.ranking import rank, sum_up
from models.kernels.records import (
    block_of_halves,
    counts,
    floats,
    floats_at,
    matrix_of_counts,
    matrix_of_floats,
    record_at,
    table_of_bytes,
    table_of_floats,
)
from models.kernels.sharing import shared
from models.kernels.tiles import by_bytes, by_halves, rows_of_next

_ADD, _SET, _SET_WIDE = 0, 1, 2
"""What becomes of a product: it is added to what was there, or set as it is, or behind the activation."""


@compiled
def _weights(at: int) -> Weights:
    record = record_at(at, 16)
    return Weights(
        matrix_of_floats(record, 0), matrix_of_floats(record, 1),
        block_of_halves(record, 2), block_of_halves(record, 3), block_of_halves(record, 4), block_of_halves(record, 5),
        matrix_of_floats(record, 6), matrix_of_floats(record, 7), matrix_of_floats(record, 8),
        matrix_of_floats(record, 9), table_of_floats(record, 10), matrix_of_floats(record, 11),
        matrix_of_floats(record, 12), table_of_bytes(record, 13), floats(record, 14), matrix_of_floats(record, 15),
    )  # fmt: skip


@compiled
def _pass(at: int) -> Pass:
    record = record_at(at, 25)
    return Pass(
        counts(record, 0), counts(record, 1), counts(record, 2), counts(record, 3), counts(record, 4),
        counts(record, 5), counts(record, 6), counts(record, 7), counts(record, 8), counts(record, 9),
        counts(record, 10), matrix_of_floats(record, 11), matrix_of_floats(record, 12), matrix_of_floats(record, 13),
        matrix_of_floats(record, 14), matrix_of_floats(record, 15), matrix_of_floats(record, 16),
        matrix_of_floats(record, 17), matrix_of_floats(record, 18), matrix_of_floats(record, 19),
        matrix_of_counts(record, 20), matrix_of_floats(record, 21), matrix_of_floats(record, 22),
        matrix_of_floats(record, 23), matrix_of_counts(record, 24),
    )  # fmt: skip


@compiled
def _embed(weights: Weights, of: Pass) -> None:
    """The embeddings of all new tokens."""
    for line in range(len(of.first)):
        for new in range(of.new[line]):
            token = of.first[line] + new
            word, place, here = weights.words[of.ids[token]], weights.places[of.behind[line] + new], of.x[token]
            for i in range(len(here)):
                here[i] = word[i] + place[i]


@compiled
def _prepare(phase: int, weights: Weights, of: Pass) -> None:
    """What one thread does alone before the parts of a `phase`: embeddings and norms."""
    block, kind = phase // PHASES, phase % PHASES
    if phase == 0:
        _embed(weights, of)
    if block == len(weights.joint):
        if kind > 0:
            return
        for row in range(len(of.wanted)):
            x, epsilon = of.x[of.wanted[row]], weights.epsilons[block, 0]
            norm(x, weights.last[0], weights.last[1], epsilon, of.final[row])
    elif kind % 2 == 0:
        norms, epsilon = weights.norms[block], weights.epsilons[block, kind // 2]
        for token in range(len(of.x)):
            norm(of.x[token], norms[kind], norms[kind + 1], epsilon, of.normed[token])


@compiled
def _look(query: Any, keys: Any, values: Any, count: int, weighed: Any, found: Any) -> None:
    """What a `query` `[64]` finds at the first `count` of `keys` and `values` `[token, 64]` (Vaswani et al., 2017)."""
    largest = np.float32(-np.inf)
    for token in range(count):
        key, score = keys[token], np.float32(0)
        for i in range(HEAD_WIDTH):
            score += query[i] * key[i]
        weighed[token] = score * np.float32(HEAD_WIDTH**-0.5)
        largest = max(largest, weighed[token])
    total = np.float32(0)
    for i in range(HEAD_WIDTH):
        found[i] = 0
    for token in range(count):
        share, value = exponential(weighed[token] - largest), values[token]
        total += share
        for i in range(HEAD_WIDTH):
            found[i] += share * value[i]
    for i in range(HEAD_WIDTH):
        found[i] /= total


@compiled
def _attend(block: int, head: int, of: Pass, weighed: Any) -> None:
    """What all new tokens find by one `head`: at those before them in their line, and at themselves."""
    width, start = of.x.shape[1], head * HEAD_WIDTH
    for line in range(len(of.first)):
        room = of.room[line]
        here = block * of.apart[line] + 4 * head * room * HEAD_WIDTH
        keys = carray(floats_at(of.keys[line] + here), (room, HEAD_WIDTH))
        values = carray(floats_at(of.values_at[line] + here), (room, HEAD_WIDTH))
        for new in range(of.new[line]):
            token, place = of.first[line] + new, of.behind[line] + new
            own, key, value = of.joint[token], keys[place], values[place]
            query, own_key, own_value = own[start:], own[width + start :], own[2 * width + start :]
            for i in range(HEAD_WIDTH):
                key[i] = own_key[i]
                value[i] = own_value[i]
            _look(query, keys, values, place + 1, weighed, of.found[token][start:])


@compiled
def _product(x: Any, tile: int, weights: Any, bias: Any, to: Any, then: int, sums: Any) -> None:
    """What `x` `[token, in]` makes by one `tile` of weights and their bias, and what `then` becomes of it.

    It stands in `to` `[token, out]`.
    """
    first, start = 0, tile * OUTPUTS
    added, count, at = bias[start:], x.shape[1], weights[tile].ctypes.data
    while first < len(x):
        rows = rows_of_next(len(x) - first)
        by_halves(x[first].ctypes.data, count, count, rows, at, sums.ctypes.data, OUTPUTS, at)
        for row in range(rows):
            here, found = to[first + row][start:], sums[row * OUTPUTS :]
            if then == _ADD:
                for i in range(OUTPUTS):
                    here[i] += found[i] + added[i]
            elif then == _SET:
                for i in range(OUTPUTS):
                    here[i] = found[i] + added[i]
            else:
                for i in range(OUTPUTS):
                    here[i] = gelu(found[i] + added[i])
        first += rows


@compiled
def _score(tile: int, weights: Weights, of: Pass, sums: Any) -> None:
    """Scores of the words of one `tile`."""
    first, start = 0, tile * OUTPUTS
    scales, count, at = weights.scales[start:], of.final.shape[1], weights.output[tile].ctypes.data
    while first < len(of.final):
        rows = rows_of_next(len(of.final) - first)
        by_bytes(of.final[first].ctypes.data, count, count, rows, at, sums.ctypes.data, OUTPUTS, at)
        for row in range(rows):
            here, found = of.scores[first + row][start:], sums[row * OUTPUTS :]
            for i in range(min(OUTPUTS, len(scales))):
                here[i] = found[i] * scales[i]
            sum_up(here[: min(OUTPUTS, len(scales))], tile, of.largest[first + row], of.sums[first + row])
        first += rows


@compiled
def _do(phase: int, part: int, number: int, weights: Weights, of: Pass) -> None:
    """One `part` of a `phase`, both counted from 0, by the thread of a `number`."""
    own = of.scratch[number]
    sums, weighed = own[: MOST_ROWS * OUTPUTS], own[MOST_ROWS * OUTPUTS :]
    block, kind, heads = phase // PHASES, phase % PHASES, of.x.shape[1] // HEAD_WIDTH
    if block == len(weights.joint) and kind > 0:
        scores, values, words = of.scores[part], of.values[part], of.best[part]
        kept, kept_words = of.kept[number], of.kept_words[number]
        rank(scores, of.largest[part], of.sums[part], of.final[part], weights.exact, values, words, kept, kept_words)
        return
    if block == len(weights.joint):
        for tile in range(part * TILES_OF_WORDS, min((part + 1) * TILES_OF_WORDS, len(weights.output))):
            _score(tile, weights, of, sums)
        return
    x, tiles, bias, to, then = of.normed, weights.joint[block], weights.joint_bias[block], of.joint, _SET
    if kind == 0:
        # A head is as wide as a tile: its queries, keys and values are one each.
        _product(x, part + heads, tiles, bias, to, then, sums)
        _product(x, part + 2 * heads, tiles, bias, to, then, sums)
    elif kind == 1:
        x, tiles, bias, to, then = of.found, weights.together[block], weights.together_bias[block], of.x, _ADD
    elif kind == 2:
        tiles, bias, to, then = weights.wide[block], weights.wide_bias[block], of.inner, _SET_WIDE
    else:
        x, tiles, bias, to, then = of.inner, weights.narrow[block], weights.narrow_bias[block], of.x, _ADD
    _product(x, part, tiles, bias, to, then, sums)
    if kind == 0:
        _attend(block, part, of, weighed)


share = shared(_weights, _pass, _do, _prepare)
