"""An encoder whose passes are compiled."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from models.compiled.code import address_of, begin, is_there
from models.compiled.encoder_texts import Texts, ends_of, texts_of
from models.compiled.encoder_weights import fits, weights_of
from models.compiled.helpers import helpers, threads
from models.compiled.room import Room
from models.compiled.tables import Array, empty, in_pairs, in_whole
from models.kernels.encoder_layout import FACTOR, PHASES, EncoderPass, EncoderWeights
from models.kernels.layout import COUNTS, MOST_ROWS, OUTPUTS, record_of
from models.kernels.processor import ATTENTION, ENCODER


def encoder_of(network: PreTrainedModel) -> "CompiledEncoder | None":
    """The blocks of `network` compiled, if it is one that passes are there for; if they are not, they are begun."""
    if not fits(network):
        return None
    if not is_there(ENCODER):
        begin(ENCODER, ATTENTION)
        return None
    return CompiledEncoder(network)


class CompiledEncoder:
    """The embeddings and the blocks of a `network`, laid out once; whoever changes a weight must do so again."""

    def __init__(self, network: PreTrainedModel) -> None:
        self._answers = _Passes(ENCODER, weights_of(network, in_pairs), 0)
        self._looks: _Passes | None = None

    def read(
        self, ids: Tensor, types: Tensor | None = None, mask: Tensor | None = None, only: Sequence[int] | None = None
    ) -> Tensor:
        """What comes out behind the last block, `[row, token, width]`, for `ids` `[row, token]`.

        `types` say of a token of which text it is, and `mask` is 0 at padding, both `[row, token]`; zeros come out
        there. Where `only` some tokens are wanted, whose places are counted through all rows, it is
        `[1, place, width]`.
        """
        texts = texts_of(ids, types, mask, only)
        read = torch.from_numpy(self._answers.read(texts))
        if only is not None:
            return read[texts.back][None]
        if texts.real is not None:
            places = torch.from_numpy(texts.real)
            read = torch.zeros(ids.numel(), read.shape[1]).index_copy_(0, places, read)
        return read.view(*ids.shape, -1)

    @property
    def shows_attention(self) -> bool:
        """Whether the code is there that shows attention."""
        return is_there(ATTENTION)

    def attention(self, network: PreTrainedModel, ids: Tensor, types: Tensor | None) -> list[Tensor]:
        """Each layer's attention `[1, head, query, key]` over a single text without padding, nearly exact; see `read`.

        `network` is the one that this was made of.
        """
        if self._looks is None:
            # Few texts are looked at; who only wants an answer needs none of these weights.
            self._looks = _Passes(ATTENTION, weights_of(network, in_whole), FACTOR)
        texts = texts_of(ids, types, None, None)
        seen = torch.from_numpy(self._looks.look(texts))
        size = int(texts.sizes[0])
        return list(seen.view(len(seen), 1, -1, size, size).unbind())


class _Passes:
    """Passes by the code of a `name`; each group of inputs has so many numbers more `behind` its row."""

    def __init__(self, name: str, weights: EncoderWeights, behind: int) -> None:
        self._weights, self._record, self._share = weights, record_of(weights), address_of(name, name)
        self._behind, self._room = behind, Room()
        self._width, self._inner = weights.words.shape[1], weights.wide_bias.shape[1]
        self._sizes = (len(weights.joint), self._width // OUTPUTS, self._inner // OUTPUTS)

    def read(self, texts: Texts) -> Array:
        """What comes out behind the last block for all that is wanted, `[token, width]`."""
        x = empty(int(texts.sizes.sum()), self._width)
        self._make(texts, x, ends_of(*self._sizes, len(x), len(texts.wanted)), empty(0, 0))
        return x[: len(texts.wanted)]

    def look(self, texts: Texts) -> Array:
        """The attention of a single text, `[block, head * query * key]`."""
        tokens, heads = int(texts.sizes.sum()), self._width // len(self._weights.head)
        seen = empty(len(self._weights.joint), heads * tokens * tokens)
        # Nothing is wanted of the last block but its attention.
        ends = ends_of(*self._sizes, tokens, tokens)[: 1 - PHASES]
        self._make(texts, empty(tokens, self._width), ends, seen)
        return seen

    def _make(self, texts: Texts, x: Array, ends: Array, seen: Array) -> None:
        tokens, floats, head = len(x), np.float32, len(self._weights.head)
        longest = -(-int(texts.sizes.max()) // OUTPUTS) * OUTPUTS
        own = 2 * MOST_ROWS * OUTPUTS + longest * 2 * (head + MOST_ROWS)
        with self._room.taken() as room:

            def kept(width: int, group: int) -> Array:
                return room.numbers(np.int16, tokens, width + width // group * self._behind)

            work = EncoderPass(
                *texts.given, ends=ends, counts=np.zeros(COUNTS, np.int64), x=x, seen=seen,
                joint=room.numbers(floats, tokens, 3 * self._width),
                kept=kept(self._width, OUTPUTS), found=kept(self._width, head), inner=kept(self._inner, OUTPUTS),
                scratch=room.numbers(floats, threads(), own),
            )  # fmt: skip
            helpers().make(self._share, self._record, record_of(work), len(work.scratch))
