"""GPT-2 (Radford et al., 2019), read token by token."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.lean.key_values import KeyValues
from models.lean.parts import Map, attended, feed_forward_of, heads_apart, map_of, norm_of


@dataclass(frozen=True)
class _Block:
    """A block's parts in the order in which they read, and what it remembers."""

    first_norm: Map
    joint: Map
    together: Map
    second_norm: Map
    feed_forward: Map
    remembered: KeyValues


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
                KeyValues(),
            )
            for block in trunk.h
        )

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        before, new = self._blocks[0].remembered.length, ids.shape[1]
        if before and new > 1:
            raise ValueError("after its beginning a text is read token by token")
        x = self._words[ids] + self._places[before : before + new]
        for block in self._blocks:
            joint = block.joint(block.first_norm(x))
            queries, keys, values = (heads_apart(each, self._heads) for each in joint.chunk(3, dim=-1))
            x = x + block.together(attended(queries, *block.remembered.add(keys, values)))
            x = x + block.feed_forward(block.second_norm(x))
        logits: Tensor = self._network.lm_head.forward(self._last_norm(x[:, -1]))
        return logits.float()

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        for block in self._blocks:
            block.remembered.reorder(rows)
