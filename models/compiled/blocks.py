"""GPT-2's blocks (Radford et al., 2019) over several texts' new tokens, and their scores, as one compiled call."""

from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from models.compiled.arithmetic import exponential, gelu, norm
from models.compiled.compiler import compiled, entry
from models.compiled.memory import floats_at
from models.compiled.ranking import rank, sum_up
from models.compiled.sharing import NOTHING, ends_phase, open_to, taken, wait_for_all, wait_for_phase
from models.compiled.tiles import OUTPUTS, by_bytes, by_halves, rows_of_next
from models.compiled.weights import HEAD_WIDTH, Floats, Weights

_PHASES = 4
"""Of one block: attention, a head for each part; heads together; wide; narrow. Scores and ranks follow the last."""

_ADD, _SET, _SET_WIDE = 0, 1, 2
"""What becomes of a product: it is added to what was there, or set as it is, or behind the activation."""

_TILES_OF_WORDS = 4
"""So many tiles of the vocabulary are taken at once."""


class Lines(NamedTuple):
    """Of each row of all texts its `first` new token, counted through all, and how many are `new`, `behind` how many.

    `keys` and `values` are the addresses of the first block's `[head, room, 64]`; those of each next block are as many
    bytes `apart`. `ids` `[token]` are all new tokens, `wanted` those that are to be scored.
    """

    first: NDArray[np.int64]
    new: NDArray[np.int64]
    behind: NDArray[np.int64]
    room: NDArray[np.int64]
    keys: NDArray[np.int64]
    values: NDArray[np.int64]
    apart: NDArray[np.int64]
    ids: NDArray[np.int64]
    wanted: NDArray[np.int64]


class Work(NamedTuple):
    """What is computed: `x` `[token, width]` from embeddings to the last block, and what lies between two phases.

    `last` `[row, width]` are the normed vectors that are scored, a row for each wanted token, `scores` `[row, word]`
    what comes of it, `largest` and `sums` `[row, tile]` what `sum_up` says of that. `words` and `values` `[row, most]`
    are the best and the logarithms of their probabilities.
    """

    x: Floats
    normed: Floats
    joint: Floats
    found: Floats
    inner: Floats
    last: Floats
    scores: Floats
    largest: Floats
    sums: Floats
    words: NDArray[np.int64]
    values: Floats


def ends_of(weights: Weights, rows: int) -> NDArray[np.int64]:
    """After how many parts, counted from the first of a pass that scores so many `rows`, each of its phases ends."""
    heads = weights.words.shape[1] // HEAD_WIDTH
    sizes = [heads, *(each.shape[1] for each in (weights.together, weights.wide, weights.narrow))]
    words = -(-len(weights.output) // _TILES_OF_WORDS)
    return np.cumsum(np.array([*sizes * len(weights.joint), words, rows], np.int64))


def work_for(weights: Weights, lines: Lines, most: int) -> Work:
    """Room for a pass."""
    width, inner, tokens, rows = weights.words.shape[1], weights.wide_bias.shape[1], len(lines.ids), len(lines.wanted)
    tiles, words = len(weights.output), len(weights.scales)

    def room(*size: int) -> Floats:
        return np.empty(size, np.float32)

    return Work(
        x=room(tokens, width), normed=room(tokens, width), joint=room(tokens, 3 * width), found=room(tokens, width),
        inner=room(tokens, inner), last=room(rows, width), scores=room(rows, words), largest=room(rows, tiles),
        sums=room(rows, tiles), words=np.empty((rows, most), np.int64), values=room(rows, most),
    )  # fmt: skip


@compiled
def _embed(weights: Weights, lines: Lines, x: Any) -> None:
    """The embeddings `x` of all new tokens."""
    for line in range(len(lines.first)):
        for new in range(lines.new[line]):
            token = lines.first[line] + new
            word, place, here = weights.words[lines.ids[token]], weights.places[lines.behind[line] + new], x[token]
            for i in range(len(here)):
                here[i] = word[i] + place[i]


@compiled
def _prepare(phase: int, weights: Weights, lines: Lines, work: Work) -> None:
    """What one thread does alone before the parts of a `phase`: embeddings and norms."""
    block, kind = phase // _PHASES, phase % _PHASES
    if phase == 0:
        _embed(weights, lines, work.x)
    if block == len(weights.joint):
        if kind > 0:
            return
        for row in range(len(lines.wanted)):
            x, epsilon = work.x[lines.wanted[row]], weights.epsilons[block, 0]
            norm(x, weights.last[0], weights.last[1], epsilon, work.last[row])
    elif kind % 2 == 0:
        norms, epsilon = weights.norms[block], weights.epsilons[block, kind // 2]
        for token in range(len(work.x)):
            norm(work.x[token], norms[kind], norms[kind + 1], epsilon, work.normed[token])


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
def _attend(block: int, head: int, lines: Lines, work: Work, weighed: Any) -> None:
    """What all new tokens find by one `head`: at those before them in their line, and at themselves."""
    width, start = work.x.shape[1], head * HEAD_WIDTH
    for line in range(len(lines.first)):
        room = lines.room[line]
        here = block * lines.apart[line] + 4 * head * room * HEAD_WIDTH
        keys = carray(floats_at(lines.keys[line] + here), (room, HEAD_WIDTH))
        values = carray(floats_at(lines.values[line] + here), (room, HEAD_WIDTH))
        for new in range(lines.new[line]):
            token, place = lines.first[line] + new, lines.behind[line] + new
            own, key, value = work.joint[token], keys[place], values[place]
            query, own_key, own_value = own[start:], own[width + start :], own[2 * width + start :]
            for i in range(HEAD_WIDTH):
                key[i] = own_key[i]
                value[i] = own_value[i]
            _look(query, keys, values, place + 1, weighed, work.found[token][start:])


@compiled
def _product(x: Any, tile: int, weights: Any, bias: Any, to: Any, then: int, sums: Any) -> None:
    """What `x` `[token, in]` makes by one `tile` of weights and their bias, and what `then` becomes of it.

    It stands in `to` `[token, out]`.
    """
    first, start = 0, tile * OUTPUTS
    added = bias[start:]
    while first < len(x):
        rows = rows_of_next(len(x) - first)
        by_halves(x, first, rows, weights[tile], sums)
        for row in range(rows):
            here, found = to[first + row][start:], sums[row]
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
def _score(tile: int, weights: Weights, work: Work, sums: Any) -> None:
    """Scores of the words of one `tile`."""
    first, start = 0, tile * OUTPUTS
    scales = weights.scales[start:]
    while first < len(work.last):
        rows = rows_of_next(len(work.last) - first)
        by_bytes(work.last, first, rows, weights.output[tile], sums)
        for row in range(rows):
            here, found = work.scores[first + row][start:], sums[row]
            for i in range(min(OUTPUTS, len(scales))):
                here[i] = found[i] * scales[i]
            sum_up(here[: min(OUTPUTS, len(scales))], tile, work.largest[first + row], work.sums[first + row])
        first += rows


@compiled
def _do(phase: int, part: int, weights: Weights, lines: Lines, work: Work, sums: Any, weighed: Any) -> None:
    """One `part` of a `phase`, counted from 0."""
    block, kind, heads = phase // _PHASES, phase % _PHASES, work.x.shape[1] // HEAD_WIDTH
    if block == len(weights.joint) and kind > 0:
        scores, values, words = work.scores[part], work.values[part], work.words[part]
        rank(scores, work.largest[part], work.sums[part], work.last[part], weights.exact, values, words)
        return
    if block == len(weights.joint):
        for tile in range(part * _TILES_OF_WORDS, min((part + 1) * _TILES_OF_WORDS, len(weights.output))):
            _score(tile, weights, work, sums)
        return
    x, tiles, bias, to, then = work.normed, weights.joint[block], weights.joint_bias[block], work.joint, _SET
    if kind == 0:
        # A head is as wide as a tile: its queries, keys and values are one each.
        _product(x, part + heads, tiles, bias, to, then, sums)
        _product(x, part + 2 * heads, tiles, bias, to, then, sums)
    elif kind == 1:
        x, tiles, bias, to, then = work.found, weights.together[block], weights.together_bias[block], work.x, _ADD
    elif kind == 2:
        tiles, bias, to, then = weights.wide[block], weights.wide_bias[block], work.inner, _SET_WIDE
    else:
        x, tiles, bias, to, then = work.inner, weights.narrow[block], weights.narrow_bias[block], work.x, _ADD
    _product(x, part, tiles, bias, to, then, sums)
    if kind == 0:
        _attend(block, part, lines, work, weighed)


@entry
def share(counts: Any, ends: Any, weights: Weights, lines: Lines, work: Work, leads: bool) -> None:
    """Take part in a pass until nothing is left; who `leads` opens it, and waits until all is done."""
    sums = np.empty((6, OUTPUTS), np.float32)
    weighed = np.empty(np.max(lines.behind + lines.new), np.float32)
    total, phase = ends[-1], 0
    if leads:
        _prepare(0, weights, lines, work)
        open_to(counts, ends[0])
    while True:
        part = taken(counts, total)
        if part == NOTHING:
            break
        while part >= ends[phase]:
            phase += 1
        start = ends[phase - 1] if phase else 0
        wait_for_phase(counts, part)
        _do(phase, part - start, weights, lines, work, sums, weighed)
        if ends_phase(counts) and phase + 1 < len(ends):
            _prepare(phase + 1, weights, lines, work)
            open_to(counts, ends[phase + 1])
    if leads:
        wait_for_all(counts, total)
