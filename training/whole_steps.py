"""Weights as whole multiples of a power of two per output, so that 8 bits hold them: see `models/whole_steps.py`."""

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.whole_steps import multiples_of, steps_of


@torch.no_grad()
def to_whole_steps(network: PreTrainedModel) -> None:
    """Round every linear layer inside `network`, which is float32; embeddings and the scores over words stay."""
    output = network.get_output_embeddings()  # type: ignore[no-untyped-call]
    for module in network.modules():
        if isinstance(module, nn.Linear | Conv1D) and module is not output:
            weight = module.weight if isinstance(module, nn.Linear) else module.weight.T
            steps = steps_of(weight)
            weight.copy_(multiples_of(weight, steps) * steps[:, None])
