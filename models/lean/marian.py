"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import MarianMTModel

from models.lean.key_values import KeyValues
from models.lean.parts import SideBySide, attended, heads_apart, normed


class LeanMarian:
    """A decoder that remembers what it has read, beside a source that all its rows share."""

    def __init__(self, network: MarianMTModel, encoded: Tensor) -> None:
        self._network = network
        self._heads = int(network.config.decoder_attention_heads)
        layers: Any = network.model.decoder.layers
        self.remembered = [KeyValues() for _ in layers]
        self._source = [
            tuple(
                heads_apart(project.forward(encoded), self._heads)
                for project in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj)
            )
            for layer in layers
        ]

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        return self.read_together([self], [ids])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanMarian"], ids: Sequence[Tensor]) -> list[Tensor]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        network, heads = readers[0]._network, readers[0]._heads
        decoder: Any = network.model.decoder
        flat = SideBySide.of(ids)
        places = flat.places([reader.remembered[0].length for reader in readers])
        x = decoder.embed_tokens(flat.ids) * decoder.embed_scale + decoder.embed_positions.weight[places]
        for number, layer in enumerate(decoder.layers):
            own = layer.self_attn
            projected = [flat.apart(project.forward(x)) for project in (own.q_proj, own.k_proj, own.v_proj)]
            found = []
            for reader, *each in zip(readers, *projected, strict=True):
                queries, keys, values = (heads_apart(one, heads) for one in each)
                found.append(attended(queries, *reader.remembered[number].add(keys, values)))
            x = normed(layer.self_attn_layer_norm, x + own.out_proj.forward(flat.together(found)))
            asked = flat.apart(layer.encoder_attn.q_proj.forward(x))
            found = [
                reader._looked_up(queries, *reader._source[number])
                for reader, queries in zip(readers, asked, strict=True)
            ]
            x = normed(layer.encoder_attn_layer_norm, x + layer.encoder_attn.out_proj.forward(flat.together(found)))
            widened = layer.fc2.forward(layer.activation_fn(layer.fc1.forward(x)))
            x = normed(layer.final_layer_norm, x + widened)
        logits: Tensor = network.lm_head.forward(x[flat.lasts]) + network.final_logits_bias
        return list(torch.split(logits.float(), [len(each) for each in ids]))

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was; the source is everyone's."""
        for remembered in self.remembered:
            remembered.reorder(rows)

    def _looked_up(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What `queries` `[row, new, width]` find in the one source: to it, all of them are one text's."""
        rows, new, width = queries.shape
        together = heads_apart(queries.reshape(1, rows * new, width), self._heads)
        found = functional.scaled_dot_product_attention(together, keys, values)
        return found.transpose(1, 2).reshape(rows, new, width)
