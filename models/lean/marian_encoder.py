"""The encoder of a Marian Transformer (Junczys-Dowmunt et al., 2018), read with nothing in between."""

from typing import Any

import torch
from torch import Tensor
from transformers import MarianMTModel

from models.lean.encoder_pass import read_blocks
from models.lean.parts import FUSED, Joint, Layers
from models.lean.stack import Stack

_ALL = 1 << 30


def marian_encoded(network: MarianMTModel, ids: Tensor) -> Tensor:
    """What the encoder says of `ids` `[row, token]` without padding, `[row, token, width]`."""
    encoder: Any = network.model.encoder
    layers = Layers.of(
        [part for layer in encoder.layers for part in _linear(layer)],
        [norm for layer in encoder.layers for norm in (layer.self_attn_layer_norm, layer.final_layer_norm)],
    )
    words = torch.embedding(encoder.embed_tokens.weight, ids) * float(encoder.embed_scale)
    stack = Stack(
        int(network.config.encoder_attention_heads), layers.numbers, FUSED[network.config.activation_function],
        layers.norms, layers.epsilons,
    )  # fmt: skip
    x: Tensor = read_blocks(words + encoder.embed_positions.weight[: ids.shape[1]], None, stack, _ALL, _ALL)
    return x


def _linear(layer: Any) -> tuple[Any, ...]:
    own = layer.self_attn
    return Joint(own, (own.q_proj, own.k_proj, own.v_proj)), own.out_proj, layer.fc1, layer.fc2
