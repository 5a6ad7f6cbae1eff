"""A GPT-2 whose passes are compiled."""

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import GPT2LMHeadModel

from models.compiled.code import address_of
from models.compiled.gpt2_weights import weights_of
from models.compiled.helpers import helpers, threads
from models.compiled.room import Part, Room
from models.kernels.decoder_layout import HEAD_WIDTH, TILES_OF_WORDS, Pass, Weights
from models.kernels.layout import COUNTS, MOST_ROWS, OUTPUTS, record_of
from models.kernels.processor import DECODER
from models.lean.decoder_pass import Texts

Counts = NDArray[np.int64]


class CompiledGPT2:
    """The blocks and the scores of a `network`, laid out once; whoever changes a weight must do so again."""

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self._weights = weights = weights_of(network)
        # Worked out once for each number of rows.
        self._ends_of = cache(partial(_ends_of, weights))
        self._record = record_of(weights)
        self._room = Room()
        read = (weights.joint, weights.together, weights.wide, weights.narrow, weights.output)
        self.bytes = sum(each.nbytes for each in read)
        """What a pass reads of weights."""
        self._share = address_of(DECODER, DECODER)

    def read(self, ids: Sequence[Tensor], texts: Texts, most: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Read the `ids` `[row, token]` of all texts; what each says behind those of its tokens that are wanted.

        Logits `[row, vocabulary]`, and the ids and log-probabilities of the best `most` of each. Whoever calls makes
        one pass after the other.
        """
        lines = _lines(ids, texts)
        with self._room.taken() as room:
            work = _pass(self._weights, lines, self._ends_of(len(lines.wanted)), most, room)
            helpers().make(self._share, self._record, record_of(work), len(work.scratch))
        logits, words, values = (torch.from_numpy(each) for each in (work.scores, work.best, work.values))
        return _parted((logits, words, values), texts)


class _Lines(NamedTuple):
    """The rows of all texts, as `Pass` says."""

    first: Counts
    new: Counts
    behind: Counts
    room: Counts
    keys: Counts
    values: Counts
    apart: Counts
    ids: Counts
    wanted: Counts


def _lines(ids: Sequence[Tensor], texts: Texts) -> _Lines:
    """The rows of all texts as lines, and their `ids`."""
    lines: list[tuple[int, ...]] = []
    wanted: list[int] = []
    token = 0
    parts = zip(texts.rows, texts.tokens, texts.lengths, texts.wanted, texts.stores, strict=True)
    for rows, new, behind, asked, store in parts:
        start, (apart, half, line) = store.data_ptr(), (4 * stride for stride in store.stride()[:3])
        for row in range(rows):
            keys = start + row * line
            lines.append((token, new, behind, store.shape[4], keys, keys + half, apart))
            token += new
            wanted += range(token - asked, token)
    first, news, behinds, room, keys_at, values_at, aparts = np.array(lines, np.int64).T.copy()
    flat = torch.cat([each.reshape(-1) for each in ids]) if len(ids) > 1 else ids[0].reshape(-1)
    numbers = np.ascontiguousarray(flat.numpy(), np.int64)
    return _Lines(first, news, behinds, room, keys_at, values_at, aparts, numbers, np.array(wanted, np.int64))


def _parted(said: tuple[Tensor, Tensor, Tensor], texts: Texts) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What is `said` of all wanted tokens, as a part for each text."""
    if len(texts.rows) == 1:
        return [said]
    sizes = [rows * wanted for rows, wanted in zip(texts.rows, texts.wanted, strict=True)]
    return list(zip(*(torch.split(each, sizes) for each in said), strict=True))


def _ends_of(weights: Weights, rows: int) -> Counts:
    """After how many parts, counted from the first of a pass that scores so many `rows`, each of its phases ends."""
    heads = weights.words.shape[1] // HEAD_WIDTH
    sizes = [heads, *(each.shape[1] for each in (weights.together, weights.wide, weights.narrow))]
    words = -(-len(weights.output) // TILES_OF_WORDS)
    return np.cumsum(np.array([*sizes * len(weights.joint), words, rows], np.int64))


def _pass(weights: Weights, lines: _Lines, ends: Counts, most: int, room: Part) -> Pass:
    """What a pass over `lines` is given; what it says lasts, all else is `room` of others, too."""
    width, inner, tokens, rows = weights.words.shape[1], weights.wide_bias.shape[1], len(lines.ids), len(lines.wanted)
    tiles, words, taking_part = len(weights.output), len(weights.scales), threads()
    longest, floats = int((lines.behind + lines.new).max()), np.float32
    return Pass(
        *lines, ends=ends, counts=np.zeros(COUNTS, np.int64),
        x=room.numbers(floats, tokens, width), normed=room.numbers(floats, tokens, width),
        joint=room.numbers(floats, tokens, 3 * width), found=room.numbers(floats, tokens, width),
        inner=room.numbers(floats, tokens, inner), final=room.numbers(floats, rows, width),
        scores=np.empty((rows, words), floats), largest=room.numbers(floats, rows, tiles),
        sums=room.numbers(floats, rows, tiles), best=np.empty((rows, most), np.int64),
        values=np.empty((rows, most), floats), scratch=room.numbers(floats, taking_part, MOST_ROWS * OUTPUTS + longest),
        kept=room.numbers(floats, taking_part, most),
        kept_words=room.numbers(np.int64, taking_part, most),
    )  # fmt: skip
