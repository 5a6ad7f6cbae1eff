"""GPT-2 (Radford et al., 2019), read token by token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.lean.decoder_pass import read_blocks
from models.lean.key_values import KeyValues
from models.lean.parts import FUSED, Layers, SideBySide, stores_of
from models.packed_linear import best_by
from models.scores import Best


class LeanGPT2:
    """A GPT-2 that remembers what it has read."""

    @staticmethod
    def knows(config: GPT2Config) -> bool:
        """Whether the network is the plain one: attention may be scaled and reordered in ways that are not here."""
        special = config.scale_attn_by_inverse_layer_idx or config.reorder_and_upcast_attn or config.add_cross_attention
        return bool(config.scale_attn_weights and not special and config.activation_function in FUSED)

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self._network = network
        trunk: Any = network.transformer
        self._heads = int(network.config.n_head)
        self._words, self._places = trunk.wte.weight, trunk.wpe.weight
        self._then = FUSED[network.config.activation_function]
        self._layers = Layers.of(
            [
                layer
                for block in trunk.h
                for layer in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj)
            ],
            [*(norm for block in trunk.h for norm in (block.ln_1, block.ln_2)), trunk.ln_f],
        )
        self.remembered = tuple(KeyValues() for _ in trunk.h)

    def read(self, ids: Tensor) -> Best:
        """Read `ids` `[row, token]`; what may come next."""
        return self.read_together([self], [ids])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanGPT2"], ids: Sequence[Tensor]) -> Sequence[Best]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        first, layers = readers[0], readers[0]._layers
        remembered, lengths = [each.remembered for each in readers], [each.remembered[0].length for each in readers]
        flat = SideBySide.of(ids, lengths)
        stores = stores_of(remembered, flat.rows, flat.tokens, first._heads, first._words)
        numbers = layers.suited(len(flat.ids))
        x = torch.embedding(first._words, flat.ids) + torch.embedding(first._places, flat.places)
        x = read_blocks(
            x, first._heads, flat.rows, flat.tokens, stores, lengths, numbers,
            first._then, layers.norms, layers.epsilons,
        )  # fmt: skip
        best = best_by(first._network.lm_head, x if flat.lasts is None else x[flat.lasts])
        for text, new in zip(remembered, flat.tokens, strict=True):
            for block in text:
                block.length += new
        return best.split(flat.rows)

    def reorder(self, rows: Tensor, alike: int = 0) -> None:
        """Row i becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
        for remembered in self.remembered:
            remembered.reorder(rows, alike)
