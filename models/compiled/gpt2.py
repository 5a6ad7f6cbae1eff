"""A GPT-2 whose passes are compiled."""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from models.compiled.blocks import Lines, ends_of, share, work_for
from models.compiled.helpers import Helpers
from models.compiled.sharing import counts
from models.compiled.weights import weights_of
from models.lean.decoder_pass import Texts
from models.lean.key_values import Remembered, texts_of
from models.scores import MOST


class CompiledGPT2:
    """The blocks and the scores of a `network`, laid out once; whoever changes a weight must do so again."""

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self._weights = weights = weights_of(network)
        # Worked out once for each number of rows.
        self._ends_of = cache(partial(ends_of, weights))
        self._helpers = Helpers()
        read = (weights.joint, weights.together, weights.wide, weights.narrow, weights.output)
        self.bytes = sum(each.nbytes for each in read)
        """What a pass reads of weights."""
        # The code is made, or read from disk, before the first text comes.
        ids, text = torch.zeros(1, 1, dtype=torch.long), Remembered(len(weights.joint))
        self.read([ids], texts_of([text], [ids], [1], network.config.n_head, network.lm_head.weight), MOST)

    def read(self, ids: Sequence[Tensor], texts: Texts, most: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Read the `ids` `[row, token]` of all texts; what each says behind those of its tokens that are wanted.

        Logits `[row, vocabulary]`, and the ids and log-probabilities of the best `most` of each. Whoever calls makes
        one pass after the other.
        """
        weights, lines = self._weights, _lines(ids, texts)
        work, ends, counted = work_for(weights, lines, most), self._ends_of(len(lines.wanted)), counts()
        self._helpers.ask(torch.get_num_threads() - 1, share, counted, ends, weights, lines, work, False)
        share(counted, ends, weights, lines, work, True)
        logits, words, values = (torch.from_numpy(each) for each in (work.scores, work.words, work.values))
        return _parted((logits, words, values), texts)


def _lines(ids: Sequence[Tensor], texts: Texts) -> Lines:
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
    # In another type or layout they would be compiled for anew.
    numbers = np.ascontiguousarray(flat.numpy(), np.int64)
    return Lines(first, news, behinds, room, keys_at, values_at, aparts, numbers, np.array(wanted, np.int64))


def _parted(said: tuple[Tensor, Tensor, Tensor], texts: Texts) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What is `said` of all wanted tokens, as a part for each text."""
    if len(texts.rows) == 1:
        return [said]
    sizes = [rows * wanted for rows, wanted in zip(texts.rows, texts.wanted, strict=True)]
    return list(zip(*(torch.split(each, sizes) for each in said), strict=True))
