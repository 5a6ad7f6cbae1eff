"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from models.lean.decoder_pass import written_by_layers
from models.lean.key_values import KeyValues, exchange, forget, grow, rows_of, texts_of
from models.lean.parts import FUSED, Joint, Layers
from models.lean.stack import Stack
from models.packed_linear import scoring_by
from models.scores import Best

_MOST = 24
"""How many of the best tokens are at hand: enough for eight beams that weigh two each, and nothing is drawn here."""


class LeanMarian:
    """A decoder that remembers what it has read, beside a source that all its rows share."""

    @staticmethod
    def knows(config: MarianConfig) -> bool:
        """Whether all that the network computes is known here."""
        return config.activation_function in FUSED

    def __init__(self, network: MarianMTModel, encoded: Tensor) -> None:
        self._network = network
        self._heads = int(network.config.decoder_attention_heads)
        decoder: Any = network.model.decoder
        self._words, self._places = decoder.embed_tokens.weight, decoder.embed_positions.weight
        self._scale = float(decoder.embed_scale)
        self._then = FUSED[network.config.activation_function]
        self._layers = Layers.of(
            [part for layer in decoder.layers for part in _linear(layer)],
            [
                norm
                for layer in decoder.layers
                for norm in (layer.self_attn_layer_norm, layer.encoder_attn_layer_norm, layer.final_layer_norm)
            ],
        )
        bias = network.final_logits_bias[0]
        self._added = bias if bias.any() else None
        self.remembered = tuple(KeyValues() for _ in decoder.layers)
        self._sources = [self._source(layer.encoder_attn, encoded) for layer in decoder.layers]

    def _source(self, attention: Any, encoded: Tensor) -> Tensor:
        """The keys and values of what was read, `[2, head, token, width]`."""
        both = torch.cat([attention.k_proj.forward(encoded), attention.v_proj.forward(encoded)])
        return both.view(2, encoded.shape[1], self._heads, -1).transpose(1, 2)

    def read(self, ids: Tensor, wanted: int = 1) -> Best:
        """Read `ids` `[row, token]`; what may come next behind the last `wanted` of them."""
        return self.read_together([self], [ids], [wanted])[0]

    @staticmethod
    def read_together(readers: Sequence["LeanMarian"], ids: Sequence[Tensor], wanted: Sequence[int]) -> Sequence[Best]:
        """What each of `readers`, all of one network, reads of its own `ids`, in one pass for all of them."""
        first, remembered = readers[0], [each.remembered for each in readers]
        texts = texts_of(remembered, ids, wanted, first._heads, first._words)
        sources = [reader._sources[number] for number in range(len(first._sources)) for reader in readers]
        layers = first._layers
        stack = Stack(first._heads, layers.numbers, first._then, layers.norms, layers.epsilons)
        scoring = scoring_by(first._network.lm_head, rows_of(texts), first._added)
        found = written_by_layers(
            list(ids), first._words, first._places, first._scale, texts, sources, stack, scoring, _MOST
        )
        grow(remembered, texts.tokens)
        return [Best(*each) for each in found]

    def forget(self, tokens: int) -> None:
        """Read on as if the last so many `tokens` had not been read."""
        forget(self.remembered, tokens)

    def reorder(self, rows: Tensor, alike: int = 0) -> None:
        """Row i becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
        exchange(self.remembered, rows, alike)


def _linear(layer: Any) -> tuple[Any, ...]:
    own, other = layer.self_attn, layer.encoder_attn
    joint = Joint(own, (own.q_proj, own.k_proj, own.v_proj))
    return joint, own.out_proj, other.q_proj, other.out_proj, layer.fc1, layer.fc2
