"""The weights of a GPT-2 in the order and the numbers in which compiled passes read them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from models.coarse_scores import in_bytes
from models.compiled.tables import floats, in_halves, table, tiles
from models.kernels.decoder_layout import HEAD_WIDTH, Weights
from models.kernels.layout import OUTPUTS
from models.scores import MOST


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
    joint, together, wide, narrow = (
        in_halves([layer.weight.T for layer in alike]) for alike in zip(*linear, strict=True)
    )
    biases = (floats([layer.bias for layer in alike]) for alike in zip(*linear, strict=True))
    joint_bias, together_bias, wide_bias, narrow_bias = biases
    norms = [torch.cat([_both(block.ln_1), _both(block.ln_2)]) for block in blocks]
    epsilons = [[block.ln_1.eps, block.ln_2.eps] for block in blocks] + [[trunk.ln_f.eps] * 2]
    exact = network.lm_head.weight.detach()
    rounded, scales = in_bytes(exact)
    return Weights(
        words=table(trunk.wte.weight), places=table(trunk.wpe.weight),
        joint=joint, together=together, wide=wide, narrow=narrow,
        joint_bias=joint_bias, together_bias=together_bias, wide_bias=wide_bias, narrow_bias=narrow_bias,
        norms=floats(norms), last=floats([*_both(trunk.ln_f)]), epsilons=np.array(epsilons, np.float32),
        output=tiles(rounded).numpy(), scales=scales.numpy(), exact=table(exact),
    )  # fmt: skip


def _both(norm: Any) -> Tensor:
    """Factors and biases of a norm, `[2, width]`."""
    return torch.stack([norm.weight.detach(), norm.bias.detach()])
