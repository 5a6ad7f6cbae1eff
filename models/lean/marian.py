"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import MarianMTModel

from models.lean.key_values import KeyValues
from models.lean.parts import attended, heads_apart, normed


class LeanMarian:
    """A decoder that remembers what it has read, beside a source that all its rows share."""

    def __init__(self, network: MarianMTModel, encoded: Tensor) -> None:
        self._network = network
        self._heads = int(network.config.decoder_attention_heads)
        layers: Any = network.model.decoder.layers
        self._remembered = [KeyValues() for _ in layers]
        self._source = [
            tuple(
                heads_apart(project.forward(encoded), self._heads)
                for project in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj)
            )
            for layer in layers
        ]

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        decoder: Any = self._network.model.decoder
        before = self._remembered[0].length
        if before and ids.shape[1] > 1:
            raise ValueError("after its beginning a text is read token by token")
        places = torch.arange(before, before + ids.shape[1], device=ids.device)
        x = decoder.embed_tokens(ids) * decoder.embed_scale + decoder.embed_positions.weight[places]
        for layer, remembered, source in zip(decoder.layers, self._remembered, self._source, strict=True):
            own = layer.self_attn
            queries, keys, values = (
                heads_apart(project.forward(x), self._heads) for project in (own.q_proj, own.k_proj, own.v_proj)
            )
            found = own.out_proj.forward(attended(queries, *remembered.add(keys, values)))
            x = normed(layer.self_attn_layer_norm, x + found)
            found = layer.encoder_attn.out_proj.forward(self._looked_up(layer.encoder_attn.q_proj.forward(x), *source))
            x = normed(layer.encoder_attn_layer_norm, x + found)
            found = layer.fc2.forward(layer.activation_fn(layer.fc1.forward(x)))
            x = normed(layer.final_layer_norm, x + found)
        logits: Tensor = self._network.lm_head.forward(x[:, -1]) + self._network.final_logits_bias
        return logits.float()

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was; the source is everyone's."""
        for remembered in self._remembered:
            remembered.reorder(rows)

    def _looked_up(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What `queries` `[row, new, width]` find in the one source: to it, all of them are one text's."""
        rows, new, width = queries.shape
        together = heads_apart(queries.reshape(1, rows * new, width), self._heads)
        found = functional.scaled_dot_product_attention(together, keys, values)
        return found.transpose(1, 2).reshape(rows, new, width)
