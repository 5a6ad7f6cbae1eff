"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import MarianMTModel

from models.lean.key_values import KeyValues
from models.lean.parts import Map, SideBySide, attended, feed_forward_of, heads_apart, joint_of, map_of, norm_of


@dataclass(frozen=True)
class _Layer:
    """A layer's parts in the order in which they read."""

    joint: Map
    together: Map
    first_norm: Map
    asking: Map
    found: Map
    second_norm: Map
    feed_forward: Map
    last_norm: Map


class LeanMarian:
    """A decoder that remembers what it has read, beside a source that all its rows share."""

    def __init__(self, network: MarianMTModel, encoded: Tensor) -> None:
        self._network = network
        self._heads = int(network.config.decoder_attention_heads)
        decoder: Any = network.model.decoder
        self._words, self._places = decoder.embed_tokens.weight, decoder.embed_positions.weight
        self._scale = decoder.embed_scale
        self._layers = tuple(self._layer(layer) for layer in decoder.layers)
        self.remembered = tuple(KeyValues() for _ in decoder.layers)
        self._source = tuple(
            tuple(
                heads_apart(project.forward(encoded), self._heads)
                for project in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj)
            )
            for layer in decoder.layers
        )

    def _layer(self, layer: Any) -> _Layer:
        own, other = layer.self_attn, layer.encoder_attn
        activation = self._network.config.activation_function
        return _Layer(
            joint_of(own, (own.q_proj, own.k_proj, own.v_proj)),
            map_of(own.out_proj),
            norm_of(layer.self_attn_layer_norm),
            map_of(other.q_proj),
            map_of(other.out_proj),
            norm_of(layer.encoder_attn_layer_norm),
            feed_forward_of(layer.fc1, layer.fc2, activation, layer.activation_fn.forward),
            norm_of(layer.final_layer_norm),
        )

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        return self.read_together([self], [ids])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanMarian"], ids: Sequence[Tensor]) -> Sequence[Tensor]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        first, heads = readers[0], readers[0]._heads
        flat = SideBySide.of(ids)
        places = flat.places([reader.remembered[0].length for reader in readers])
        x = first._words[flat.ids] * first._scale + first._places[places]
        for number, layer in enumerate(first._layers):
            joint = flat.apart(layer.joint(x))
            found = [
                attended(each, heads, reader.remembered[number]) for reader, each in zip(readers, joint, strict=True)
            ]
            x = layer.first_norm(x + layer.together(flat.together(found)))
            found = [
                reader._looked_up(asked, *reader._source[number])
                for reader, asked in zip(readers, flat.apart(layer.asking(x)), strict=True)
            ]
            x = layer.second_norm(x + layer.found(flat.together(found)))
            x = layer.last_norm(x + layer.feed_forward(x))
        logits: Tensor = first._network.lm_head.forward(x[flat.lasts]) + first._network.final_logits_bias
        return torch.split(logits.float(), [len(each) for each in ids])

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
