"""GPT-2 (Radford et al., 2019), read token by token."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from models.lean.key_values import KeyValues
from models.lean.parts import attended, heads_apart, normed


class LeanGPT2:
    """A GPT-2 that remembers what it has read."""

    @staticmethod
    def knows(config: GPT2Config) -> bool:
        """Whether the network is the plain one: attention may be scaled and reordered in ways that are not here."""
        special = config.scale_attn_by_inverse_layer_idx or config.reorder_and_upcast_attn or config.add_cross_attention
        return bool(config.scale_attn_weights and not special)

    def __init__(self, network: GPT2LMHeadModel) -> None:
        self._network = network
        self._heads = int(network.config.n_head)
        self._remembered = [KeyValues() for _ in network.transformer.h]
        # The name stands for a formula that torch computes in one pass, and transformers in eight.
        plain = network.config.activation_function == "gelu_new"
        self._activation: Callable[[Tensor], Tensor] | None = (
            partial(functional.gelu, approximate="tanh") if plain else None
        )

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        trunk: Any = self._network.transformer
        before = self._remembered[0].length
        if before and ids.shape[1] > 1:
            raise ValueError("after its beginning a text is read token by token")
        places = torch.arange(before, before + ids.shape[1], device=ids.device)
        x = trunk.wte(ids) + trunk.wpe(places)
        for block, remembered in zip(trunk.h, self._remembered, strict=True):
            joint = block.attn.c_attn.forward(normed(block.ln_1, x))
            queries, keys, values = (heads_apart(each, self._heads) for each in joint.chunk(3, dim=-1))
            x = x + block.attn.c_proj.forward(attended(queries, *remembered.add(keys, values)))
            activation = self._activation or block.mlp.act
            x = x + block.mlp.c_proj.forward(activation(block.mlp.c_fc.forward(normed(block.ln_2, x))))
        logits: Tensor = self._network.lm_head.forward(normed(trunk.ln_f, x[:, -1]))
        return logits.float()

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        for remembered in self._remembered:
            remembered.reorder(rows)
