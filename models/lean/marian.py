"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.nn import functional
from transformers import MarianMTModel

from models.lean.key_values import KeyValues
from models.lean.parts import Map, attended, feed_forward_of, heads_apart, map_of, norm_of


@dataclass(frozen=True)
class _Layer:
    """A layer's parts in the order in which they read, what it remembers, and the source's keys and values."""

    queries: Map
    keys: Map
    values: Map
    together: Map
    first_norm: Map
    asking: Map
    found: Map
    second_norm: Map
    feed_forward: Map
    last_norm: Map
    remembered: KeyValues
    source: tuple[Tensor, Tensor]


class LeanMarian:
    """A decoder that remembers what it has read, beside a source that all its rows share."""

    def __init__(self, network: MarianMTModel, encoded: Tensor) -> None:
        self._network = network
        self._heads = int(network.config.decoder_attention_heads)
        decoder: Any = network.model.decoder
        self._words, self._places = decoder.embed_tokens.weight, decoder.embed_positions.weight
        self._scale = decoder.embed_scale
        self._layers = tuple(self._layer(layer, encoded) for layer in decoder.layers)

    def _layer(self, layer: Any, encoded: Tensor) -> _Layer:
        own, other = layer.self_attn, layer.encoder_attn
        activation = self._network.config.activation_function
        return _Layer(
            map_of(own.q_proj),
            map_of(own.k_proj),
            map_of(own.v_proj),
            map_of(own.out_proj),
            norm_of(layer.self_attn_layer_norm),
            map_of(other.q_proj),
            map_of(other.out_proj),
            norm_of(layer.encoder_attn_layer_norm),
            feed_forward_of(layer.fc1, layer.fc2, activation, layer.activation_fn.forward),
            norm_of(layer.final_layer_norm),
            KeyValues(),
            (
                heads_apart(other.k_proj.forward(encoded), self._heads),
                heads_apart(other.v_proj.forward(encoded), self._heads),
            ),
        )

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]`; the logits `[row, vocabulary]` of what comes next."""
        before, new = self._layers[0].remembered.length, ids.shape[1]
        if before and new > 1:
            raise ValueError("after its beginning a text is read token by token")
        x = self._words[ids] * self._scale + self._places[before : before + new]
        for layer in self._layers:
            queries, keys, values = (
                heads_apart(project(x), self._heads) for project in (layer.queries, layer.keys, layer.values)
            )
            x = layer.first_norm(x + layer.together(attended(queries, *layer.remembered.add(keys, values))))
            x = layer.second_norm(x + layer.found(self._looked_up(layer.asking(x), *layer.source)))
            x = layer.last_norm(x + layer.feed_forward(x))
        logits: Tensor = self._network.lm_head.forward(x[:, -1]) + self._network.final_logits_bias
        return logits.float()

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was; the source is everyone's."""
        for layer in self._layers:
            layer.remembered.reorder(rows)

    def _looked_up(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What `queries` `[row, new, width]` find in the one source: to it, all of them are one text's."""
        rows, new, width = queries.shape
        together = heads_apart(queries.reshape(1, rows * new, width), self._heads)
        found = functional.scaled_dot_product_attention(together, keys, values)
        return found.transpose(1, 2).reshape(rows, new, width)
