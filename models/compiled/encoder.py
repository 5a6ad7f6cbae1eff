"""An encoder whose blocks are compiled."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from models.compiled.code import address_of, begin, is_there
from models.compiled.helpers import helpers
from models.compiled.room import Room
from models.joint import joint_layers
from models.kernels.encoder_layout import ROWS_OF_A_NORM, EncoderPass, EncoderWeights
from models.kernels.layout import COUNTS, OUTPUTS, record_of
from models.kernels.processor import ENCODER
from models.lean.encoder_blocks import Block, activation_of, blocks_of, embeddings_of, is_plain
from models.lean.encoder_pass import Embeddings

_ROWS = 6
"""Of one tile's product, for which `scratch` has room."""


Counts = NDArray[np.int64]


def encoder_of(network: PreTrainedModel) -> "CompiledEncoder | None":
    """The blocks of `network` compiled, if it is one that passes are there for; if they are not, they are begun."""
    if not is_plain(network) or activation_of(network) != "gelu":
        return None
    blocks, heads = tuple(blocks_of(network)), int(network.config.num_attention_heads)
    inner, width = blocks[0].wide.weight.shape
    if width % OUTPUTS or inner % OUTPUTS or width not in (heads * OUTPUTS, heads * OUTPUTS // 2):
        return None
    if not is_there(ENCODER):
        begin(ENCODER)
        return None
    return CompiledEncoder(blocks, heads, embeddings_of(network))


class CompiledEncoder:
    """An encoder's `embeddings` and `blocks` with so many `heads`, laid out once.

    Whoever changes a weight must lay them out again. The width and the inner width are multiples of 64, a head is as
    wide as that or half.
    """

    def __init__(self, blocks: Sequence[Block], heads: int, embeddings: Embeddings) -> None:
        joint = [joint_layers(block.attention) for block in blocks]
        weights = [[torch.cat([part.weight for part in layers]) for layers in joint]]
        biases = [[torch.cat([part.bias for part in layers]) for layers in joint]]
        for alike in zip(*((block.together, block.wide, block.narrow) for block in blocks), strict=True):
            weights.append([layer.weight for layer in alike])
            biases.append([layer.bias for layer in alike])
        both = [(block.first_norm, block.second_norm) for block in blocks]
        norms = [torch.stack([a.weight, a.bias, b.weight, b.bias]) for a, b in both]
        epsilons = np.array([[a.eps, b.eps] for a, b in both], np.float32)
        self._width, self._inner = blocks[0].narrow.weight.shape
        self._head = np.empty(self._width // heads, np.float32)
        texts = (
            np.empty((0, self._width), np.float32) if embeddings.texts is None else embeddings.texts.detach().numpy()
        )
        arrays: list[Any] = [
            *(_tiles(each) for each in weights), *(_floats(each) for each in biases), _floats(norms), epsilons,
            self._head, embeddings.words.detach().numpy(), embeddings.places.detach().numpy(), texts,
            _floats(embeddings.norm), np.array([embeddings.epsilon], np.float32),
        ]  # fmt: skip
        self._weights = EncoderWeights(*arrays)
        self._record = record_of(self._weights)
        self._share = address_of(ENCODER, ENCODER)
        self._room = Room()
        self._sizes = (len(blocks), self._width // OUTPUTS, self._inner // OUTPUTS)

    def read(
        self, ids: Tensor, types: Tensor | None = None, mask: Tensor | None = None, only: Sequence[int] | None = None
    ) -> Tensor:
        """What comes out behind the last block, `[row, token, width]`, for `ids` `[row, token]`.

        `types` say of a token of which text it is, and `mask` is 0 at padding, both `[row, token]`; zeros come out
        there. Where `only` some tokens are wanted, whose places are counted through all rows, it is
        `[1, place, width]`.
        """
        rows, tokens = ids.shape
        columns, no_types = _columns(rows, tokens)
        flat, of_texts = ids.reshape(-1).numpy(), no_types if types is None else types.reshape(-1).numpy()
        if mask is None:
            read = self._read(flat, columns, of_texts, (tokens,) * rows, only)
            return read.view(rows, tokens, -1) if only is None else read[None]
        seen = mask.reshape(-1).numpy().nonzero()[0]
        sizes = tuple(mask.sum(dim=1).tolist())
        if len(seen) < len(flat):
            flat, columns, of_texts = flat[seen], columns[seen], of_texts[seen]
        read = self._read(flat, columns, of_texts, sizes, None if only is None else np.searchsorted(seen, only))
        if only is not None:
            return read[None]
        if len(seen) < rows * tokens:
            read = torch.zeros(rows * tokens, self._width).index_copy_(0, torch.from_numpy(seen), read)
        return read.view(rows, tokens, -1)

    def _read(
        self,
        ids: Counts,
        columns: Counts,
        types: Counts,
        sizes: tuple[int, ...],
        wanted: "Sequence[int] | Counts | None",
    ) -> Tensor:
        """The same for texts of these `sizes`, one behind the other, `[token, width]`."""
        tokens = len(ids)
        many, first, everything = _texts(sizes)
        # A place may be asked for twice, and in any order.
        places, back = (everything, None) if wanted is None else np.unique(wanted, return_inverse=True)
        asked_first, asked = first, many
        if back is not None:
            asked_first = np.searchsorted(places, first)
            asked = np.searchsorted(places, first + many) - asked_first
        threads, longest = torch.get_num_threads(), -(-max(sizes) // OUTPUTS) * OUTPUTS
        with self._room.taken() as room:
            work = EncoderPass(
                first=first, sizes=many, wanted=places, asked_first=asked_first, asked=asked,
                ids=np.ascontiguousarray(ids), columns=columns, types=np.ascontiguousarray(types),
                ends=_ends_of(*self._sizes, tokens, len(places)), counts=np.zeros(COUNTS, np.int64),
                x=np.empty((tokens, self._width), np.float32), rounded=room.numbers(np.int16, tokens, self._width),
                joint=room.numbers(np.float32, tokens, 3 * self._width),
                found=room.numbers(np.int16, tokens, self._width),
                inner=room.numbers(np.int16, tokens, self._inner),
                scratch=room.numbers(
                    np.float32, threads, 2 * _ROWS * OUTPUTS + longest * (2 * len(self._head) + _ROWS)
                ),
            )  # fmt: skip
            helpers().make(self._share, self._record, record_of(work))
        return torch.from_numpy(work.x[: len(places)] if back is None else work.x[back])


@lru_cache(1024)
def _ends_of(blocks: int, tiles: int, wide: int, tokens: int, wanted: int) -> Counts:
    """After how many parts, counted from the first, each phase of a pass ends; of tiles of 64, `wide` have the wide
    layers and so many `tiles` all others."""

    def phases(rows: int) -> list[int]:
        norm = -(-rows // ROWS_OF_A_NORM)
        return [tiles, tiles, norm, wide, tiles, norm]

    parts = [-(-tokens // ROWS_OF_A_NORM), *phases(tokens) * (blocks - 1), *phases(wanted)]
    return np.cumsum(np.array(parts, np.int64))


@lru_cache(1024)
def _columns(rows: int, tokens: int) -> tuple[Counts, Counts]:
    """The places of the tokens of so many rows in these, and of which text they are where there is only one."""
    return np.tile(np.arange(tokens), rows), np.zeros(rows * tokens, np.int64)


@lru_cache(1024)
def _texts(sizes: tuple[int, ...]) -> tuple[Counts, Counts, Counts]:
    """The sizes of texts, where they begin, and the places of all their tokens."""
    many = np.array(sizes, np.int64)
    first = many.cumsum() - many
    return many, first, np.arange(many.sum())


def _tiles(weights: Sequence[Tensor]) -> NDArray[np.int16]:
    """Weights `[out, in]` of all blocks in bfloat16, as `EncoderWeights` says."""
    rounded = torch.stack([each.detach().bfloat16().view(torch.int16) for each in weights])
    blocks, out, inputs = rounded.shape
    pairs = rounded.view(blocks, out // OUTPUTS, OUTPUTS, inputs // 2, 2).transpose(2, 3)
    found: NDArray[np.int16] = pairs.contiguous().view(blocks, out // OUTPUTS, inputs, OUTPUTS).numpy()
    return found


def _floats(tables: Sequence[Tensor]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = torch.stack([each.detach() for each in tables]).numpy()
    return found
