"""GPT-2 (Radford et al., 2019), read token by token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.compiled import compiled_passes
from models.layout import is_quick
from models.lean.decoder_pass import Texts, written_by_blocks
from models.lean.key_values import Remembered, rows_of, texts_of
from models.lean.parts import FUSED, Layers
from models.lean.stack import Stack
from models.packed_linear import scoring_by
from models.scores import MOST, Best


class LeanGPT2:
    """A GPT-2 that remembers what it has read."""

    source_left = 0

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
        # Compiled passes are rounded ones.
        self._compiled = compiled_passes(network) if is_quick() and not torch.is_grad_enabled() else None
        self._layers = Layers.of(
            [
                layer
                for block in trunk.h
                for layer in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj)
            ],
            [*(norm for block in trunk.h for norm in (block.ln_1, block.ln_2)), trunk.ln_f],
        )
        self.remembered = Remembered(len(trunk.h))

    def read(self, ids: Tensor, wanted: int = 1) -> Best:
        """Read `ids` `[row, token]`; what may come next behind the last `wanted` of them."""
        return self.read_together([self], [ids], [wanted])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanGPT2"], ids: Sequence[Tensor], wanted: Sequence[int]) -> Sequence[Best]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        first, remembered = readers[0], [each.remembered for each in readers]
        texts = texts_of(remembered, ids, wanted, first._heads, first._words)
        if first._compiled:
            return _read(remembered, texts, first._compiled.read(ids, texts, MOST))
        layers = first._layers
        stack = Stack(first._heads, layers.numbers, first._then, layers.norms, layers.epsilons)
        scoring = scoring_by(first._network.lm_head, rows_of(texts))
        found = written_by_blocks(list(ids), first._words, first._places, texts, stack, scoring, MOST)
        return _read(remembered, texts, found)

    def forget(self, tokens: int) -> None:
        """Read on as if the last so many `tokens` had not been read."""
        self.remembered.length -= tokens

    def reorder(self, rows: Sequence[int], alike: int = 0) -> None:
        """Row i becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
        self.remembered.reorder(rows, alike)


def _read(
    remembered: Sequence[Remembered], texts: Texts, found: Sequence[tuple[Tensor, Tensor, Tensor]]
) -> Sequence[Best]:
    """Count as read what was read of all `texts`, and what was `found` behind it."""
    for text, tokens in zip(remembered, texts.tokens, strict=True):
        text.length += tokens
    return [Best(*each) for each in found]
