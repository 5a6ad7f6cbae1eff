"""Weights as whole multiples of a power of two per output, so that 8 bits, or float16, hold them without loss."""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

LEVELS = 127
"""The largest multiple of its step that a weight may be, either way."""


@torch.no_grad()
def to_whole_steps(network: PreTrainedModel) -> None:
    """Round every linear layer inside `network`, which is float32; embeddings and the scores over words stay."""
    output = network.get_output_embeddings()
    for module in network.modules():
        if isinstance(module, nn.Linear | Conv1D) and module is not output:
            weight = module.weight if isinstance(module, nn.Linear) else module.weight.T
            steps = steps_of(weight)[:, None]
            weight.copy_((weight / steps).round_().clamp_(-LEVELS, LEVELS) * steps)


def steps_of(weight: Tensor) -> Tensor:
    """The step of each output of `weight` `[out, in]`, `[out]`: the least whose `LEVELS`-fold reaches every weight."""
    largest = weight.abs().amax(dim=1).clamp_min(torch.finfo(torch.float32).tiny)
    return torch.exp2((largest / LEVELS).log2().ceil())
