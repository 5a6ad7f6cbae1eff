"""GPT-2 (Radford et al., 2019), read token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.lean.key_values import KeyValues
from models.lean.parts import Map, SideBySide, attended, feed_forward_of, map_of, norm_of


@dataclass(frozen=True)
class _Block:
    """A block's parts in the order in which they read."""

    first_norm: Map
    joint: Map
    together: Map
    second_norm: Map
    feed_forward: Map


class LeanGPT2:
    """A GPT-2 that remembers what it has read."""

    @staticmethod
    def knows(config: GPT2Config) -> bool:
        """Whether the network is the plain one: attention may be scaled and reordered in ways that are not here."""
        special = config.scale_attn_by_inverse_layer_idx or config.reorder_and_upcast_attn or config.add_cross_attention
        return bool(config.scale_attn_weights and not special)

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self._network = network
        trunk: Any = network.transformer
        self._heads = int(network.config.n_head)
        self._words, self._places = trunk.wte.weight, trunk.wpe.weight
        self._last_norm = norm_of(trunk.ln_f)
        self._blocks = tuple(
            _Block(
                norm_of(block.ln_1),
                map_of(block.attn.c_attn),
                map_of(block.attn.c_proj),
                norm_of(block.ln_2),
                feed_forward_of(
                    block.mlp.c_fc, block.mlp.c_proj, network.config.activation_function, block.mlp.act.forward
                ),
            )
            for block in trunk.h
        )
        self.remembered = tuple(KeyValues() for _ in trunk.h)

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        return self.read_together([self], [ids])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanGPT2"], ids: Sequence[Tensor]) -> Sequence[Tensor]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        first, heads = readers[0], readers[0]._heads
        flat = SideBySide.of(ids)
        places = flat.places([reader.remembered[0].length for reader in readers])
        x = first._words[flat.ids] + first._places[places]
        for number, block in enumerate(first._blocks):
            joint = flat.apart(block.joint(block.first_norm(x)))
            found = [
                attended(each, heads, reader.remembered[number]) for reader, each in zip(readers, joint, strict=True)
            ]
            x = x + block.together(flat.together(found))
            x = x + block.feed_forward(block.second_norm(x))
        logits: Tensor = first._network.lm_head.forward(first._last_norm(x[flat.lasts]))
        return torch.split(logits.float(), [len(each) for each in ids])

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        for remembered in self.remembered:
            remembered.reorder(rows)
