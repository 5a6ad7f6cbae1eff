"""The decoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read token by token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from models.lean.decoder_pass import written_by_layers
from models.lean.key_values import Remembered, rows_of, texts_of
from models.lean.marian_encoder import marian_encoded
from models.lean.parts import FUSED, Joint, Layers
from models.lean.stack import Stack
from models.packed_linear import scoring_by
from models.scores import Best

_MOST = 24
"""How many of the best tokens are at hand: enough for eight beams that weigh two each, and nothing is drawn here."""


class LeanMarian:
    """A decoder that remembers what it has read, beside a source `[1, token]` that all its rows share."""

    @staticmethod
    def knows(config: MarianConfig) -> bool:
        """Whether all that the network computes is known here."""
        return config.activation_function in FUSED

    def __init__(self, network: MarianMTModel, source: Tensor) -> None:
        self._network = network
        self._source = source
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
        self.remembered = Remembered(len(decoder.layers))
        self._looked_up: list[Tensor] = []

    @property
    def source_left(self) -> int:
        """How many tokens of the source are read with the first ids."""
        return 0 if self._looked_up else self._source.numel()

    def _sources(self) -> list[Tensor]:
        """For each layer the keys and values of the source, `[2, head, token, width]`."""
        if not self._looked_up:
            decoder: Any = self._network.model.decoder
            encoded = marian_encoded(self._network, self._source)
            self._looked_up = [self._keys_and_values(layer.encoder_attn, encoded) for layer in decoder.layers]
        return self._looked_up

    def _keys_and_values(self, attention: Any, encoded: Tensor) -> Tensor:
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
        sources = [text for layer in zip(*(reader._sources() for reader in readers), strict=True) for text in layer]
        layers = first._layers
        stack = Stack(first._heads, layers.numbers, first._then, layers.norms, layers.epsilons)
        scoring = scoring_by(first._network.lm_head, rows_of(texts), first._added)
        found = written_by_layers(
            list(ids), first._words, first._places, first._scale, texts, sources, stack, scoring, _MOST
        )
        for text, tokens in zip(remembered, texts.tokens, strict=True):
            text.length += tokens
        return [Best(*each) for each in found]

    def forget(self, tokens: int) -> None:
        """Read on as if the last so many `tokens` had not been read."""
        self.remembered.length -= tokens

    def reorder(self, rows: Sequence[int], alike: int = 0) -> None:
        """Row i becomes what row `rows[i]` was; of the first `alike` tokens all rows are the same."""
        self.remembered.reorder(rows, alike)


def _linear(layer: Any) -> tuple[Any, ...]:
    own, other = layer.self_attn, layer.encoder_attn
    joint = Joint(own, (own.q_proj, own.k_proj, own.v_proj))
    return joint, own.out_proj, other.q_proj, other.out_proj, layer.fc1, layer.fc2
