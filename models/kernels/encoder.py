"""The blocks of BERT and DistilBERT (Devlin et al., 2019; Sanh et al., 2019) over several texts, as one call.

Twice: for answers, with weights and what they multiply in bfloat16; and for attention that is looked at, as whole
numbers that are rounded an eighth as much.
"""

from collections.abc import Callable
from typing import Any

from models.kernels import attention_exactly, attention_rounded
from models.kernels.activation import activate
from models.kernels.arithmetic import norm_in_place
from models.kernels.attention import attention
from models.kernels.encoder_layout import PHASES, ROWS_OF_A_NORM, EncoderPass, EncoderWeights
from models.kernels.language import compiled
from models.kernels.layout import MOST_ROWS, OUTPUTS
from models.kernels.numbers import FETCHED_FOR_AN_INPUT, keep_rounded, keep_whole, times_rounded, times_whole
from models.kernels.records import (
    block_of_halves,
    counts,
    floats,
    matrix_of_floats,
    matrix_of_halves,
    record_at,
    table_of_floats,
)
from models.kernels.sharing import shared
from models.kernels.tiles import rows_of_next

_ADD, _SET, _ACTIVATE = 0, 1, 2
"""What becomes of a product: it is added to what was there, or set as it is, or kept behind the activation."""


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


_FETCHING = MOST_ROWS * 2 * OUTPUTS // FETCHED_FOR_AN_INPUT
"""A tile of the same size is fetched by so many of the first rows; later ones fetch what is there."""


def _reading(keep: Callable[..., None], times: Callable[..., None], attend: Callable[..., None]) -> Any:
    """What takes part in passes whose products are made so of what is kept so (see `numbers.py`)."""

    @compiled
    def pass_of(at: int) -> EncoderPass:
        record = record_at(at, 17)
        return EncoderPass(
            counts(record, 0), counts(record, 1), counts(record, 2), counts(record, 3), counts(record, 4),
            counts(record, 5), counts(record, 6), counts(record, 7), counts(record, 8), counts(record, 9),
            matrix_of_floats(record, 10), matrix_of_halves(record, 11), matrix_of_floats(record, 12),
            matrix_of_halves(record, 13), matrix_of_halves(record, 14), matrix_of_floats(record, 15),
            matrix_of_floats(record, 16),
        )  # fmt: skip

    @compiled
    def product(
        x: Any, group: int, rows: int, tile: Any, bias: Any, to: Any, start: int, sums: Any, then: int, of: EncoderPass,
        ahead: Any,
    ) -> None:  # fmt: skip
        """What the first `rows` of `x` `[token, in]` make by a `tile` `[in, 64]` and its `bias` `[64]`.

        It stands in `to` `[token, out]` from `start` on, or behind the activation so in `inner`. The tile `ahead` is
        fetched meanwhile.
        """
        first, fetched = 0, len(tile) * FETCHED_FOR_AN_INPUT // MOST_ROWS
        while first < rows:
            some = rows_of_next(rows - first)
            far = ahead.ctypes.data + first * fetched if first < _FETCHING else tile.ctypes.data
            times(x, first, some, tile, far, group, sums)
            for row in range(some):
                found = sums[row * OUTPUTS :]
                if then == _ACTIVATE:
                    activate(found.ctypes.data, bias.ctypes.data)
                    keep(found, OUTPUTS, OUTPUTS, of.inner[first + row], start)
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
    def embed(part: int, weights: EncoderWeights, of: EncoderPass) -> None:
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
            keep(x, len(x), OUTPUTS, of.kept[token], 0)

    @compiled
    def do(phase: int, part: int, number: int, weights: EncoderWeights, of: EncoderPass) -> None:
        """One `part` of a `phase`, both counted from 0, by the thread of a `number`."""
        if phase == 0:
            embed(part, weights, of)
            return
        block, kind, scratch = (phase - 1) // PHASES, (phase - 1) % PHASES, of.scratch[number]
        is_last = block == len(weights.joint) - 1
        start, width, rows = part * OUTPUTS, of.x.shape[1], len(of.wanted) if is_last else len(of.x)
        ahead = _next(phase, part, 2, weights)
        if kind == 0:
            for third in range(3):
                tile, here = weights.joint[block][third * (width // OUTPUTS) + part], third * width + start
                bias, ahead = weights.joint_bias[block][here:], _next(phase, part, third, weights)
                product(of.kept, OUTPUTS, len(of.x), tile, bias, of.joint, here, scratch, _SET, of, ahead)
            narrow = len(weights.head)
            for head in range(start // narrow, (start + OUTPUTS) // narrow):
                for text in range(len(of.first)):
                    attend(head, narrow, text, block, is_last, of, scratch)
        elif kind == 1:
            tile, bias = weights.together[block][part], weights.together_bias[block][start:]
            product(of.found, len(weights.head), rows, tile, bias, of.x, start, scratch, _ADD, of, ahead)
        elif kind == 3:
            tile, bias = weights.wide[block][part], weights.wide_bias[block][start:]
            product(of.kept, OUTPUTS, rows, tile, bias, of.x, start, scratch, _ACTIVATE, of, ahead)
        elif kind == 4:
            tile, bias = weights.narrow[block][part], weights.narrow_bias[block][start:]
            product(of.inner, OUTPUTS, rows, tile, bias, of.x, start, scratch, _ADD, of, ahead)
        else:
            which = 0 if kind == 2 else 1
            norms, epsilon = weights.norms[block], weights.epsilons[block, which]
            for row in range(part * ROWS_OF_A_NORM, min((part + 1) * ROWS_OF_A_NORM, rows)):
                norm_in_place(of.x[row], norms[2 * which], norms[2 * which + 1], epsilon)
                keep(of.x[row], width, OUTPUTS, of.kept[row], 0)

    @compiled
    def prepare(phase: int, weights: EncoderWeights, of: EncoderPass) -> None:
        """What one thread does alone before the parts of a `phase`."""
        if phase == PHASES * (len(weights.joint) - 1) + 2:
            _keep_wanted(of)

    return shared(_weights, pass_of, do, prepare)


share_for_answers = _reading(keep_rounded, times_rounded, attention(attention_rounded.products(keep_rounded)))

share_for_attention = _reading(keep_whole, times_whole, attention(attention_exactly.products(keep_whole)))
