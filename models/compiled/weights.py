"""The weights of a GPT-2 in the order and the numbers in which compiled passes read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.coarse_scores import in_bytes
from models.kernels.decoder_layout import HEAD_WIDTH, Weights
from models.kernels.layout import OUTPUTS
from models.scores import MOST

Floats = NDArray[np.float32]
Halves = NDArray[np.int16]


def fits(config: GPT2Config) -> bool:
    """Whether the network is one that compiled passes read: as the published ones are."""
    inner = config.n_inner or 4 * config.n_embd
    return bool(
        config.n_embd == HEAD_WIDTH * config.n_head
        and inner % OUTPUTS == 0
        and config.vocab_size >= MOST
        and config.activation_function in ("gelu_new", "gelu_pytorch_tanh")
    )


def weights_of(network: GPT2LMHeadModel) -> Weights:
    """Those of a `network`; its embeddings and its output are shared with it, all else is copied."""
    trunk: Any = network.transformer
    blocks = trunk.h
    linear = [[block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj] for block in blocks]
    joint, together, wide, narrow = (_halves([layer.weight for layer in alike]) for alike in zip(*linear, strict=True))
    biases = (_floats([layer.bias for layer in alike]) for alike in zip(*linear, strict=True))
    joint_bias, together_bias, wide_bias, narrow_bias = biases
    norms = [torch.cat([_table(block.ln_1), _table(block.ln_2)]) for block in blocks]
    epsilons = [[block.ln_1.eps, block.ln_2.eps] for block in blocks] + [[trunk.ln_f.eps] * 2]
    exact = network.lm_head.weight.detach()
    rounded, scales = in_bytes(exact)
    words, places = trunk.wte.weight.detach().numpy(), trunk.wpe.weight.detach().numpy()
    return Weights(
        words=words, places=places,
        joint=joint, together=together, wide=wide, narrow=narrow,
        joint_bias=joint_bias, together_bias=together_bias, wide_bias=wide_bias, narrow_bias=narrow_bias,
        norms=_floats(norms), last=_floats([*_table(trunk.ln_f)]), epsilons=np.array(epsilons, np.float32),
        output=_tiles(rounded).numpy(), scales=scales.numpy(), exact=exact.numpy(),
    )  # fmt: skip


def _table(norm: Any) -> Tensor:
    """Factors and biases of a norm, `[2, width]`."""
    return torch.stack([norm.weight.detach(), norm.bias.detach()])


def _tiles(weight: Tensor) -> Tensor:
    """A weight `[out, in]` as `[tile, in, 64]`, filled up with zeros."""
    left = -len(weight) % OUTPUTS
    filled = torch.cat([weight, weight.new_zeros(left, weight.shape[1])]) if left else weight
    return filled.view(-1, OUTPUTS, weight.shape[1]).transpose(1, 2).contiguous()


def _halves(weights: Sequence[Tensor]) -> Halves:
    """The weights `[in, out]` of all blocks as tiles of float16."""
    tiles = torch.stack([_tiles(each.detach().half().T.contiguous()) for each in weights])
    found: Halves = tiles.view(torch.int16).numpy()
    return found


def _floats(tables: Sequence[Tensor]) -> Floats:
    found: Floats = torch.stack([each.detach() for each in tables]).numpy()
    return found
