"""GPT-2 (Radford et al., 2019), read token by token."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from models.lean.key_values import KeyValues
from models.lean.parts import SideBySide, attended, heads_apart, normed


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
        self.remembered = [KeyValues() for _ in network.transformer.h]
        # The name stands for a formula that torch computes in one pass, and transformers in eight.
        plain = network.config.activation_function == "gelu_new"
        self._activation: Callable[[Tensor], Tensor] | None = (
            partial(functional.gelu, approximate="tanh") if plain else None
        )

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        return self.read_together([self], [ids])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanGPT2"], ids: Sequence[Tensor]) -> list[Tensor]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        network, heads = readers[0]._network, readers[0]._heads
        trunk: Any = network.transformer
        activation = readers[0]._activation
        flat = SideBySide.of(ids)
        places = flat.places([reader.remembered[0].length for reader in readers])
        x = trunk.wte(flat.ids) + trunk.wpe(places)
        for number, block in enumerate(trunk.h):
            joint = block.attn.c_attn.forward(normed(block.ln_1, x))
            found = []
            for reader, own in zip(readers, flat.apart(joint), strict=True):
                queries, keys, values = (heads_apart(each, heads) for each in own.chunk(3, dim=-1))
                found.append(attended(queries, *reader.remembered[number].add(keys, values)))
            x = x + block.attn.c_proj.forward(flat.together(found))
            x = x + block.mlp.c_proj.forward(
                (activation or block.mlp.act)(block.mlp.c_fc.forward(normed(block.ln_2, x)))
            )
        logits: Tensor = network.lm_head.forward(normed(trunk.ln_f, x[flat.lasts]))
        return list(torch.split(logits.float(), [len(each) for each in ids]))

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        for remembered in self.remembered:
            remembered.reorder(rows)
