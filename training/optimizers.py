"""Muon for the matrices inside the blocks, AdamW for everything else, as both generators are trained."""

import torch
from torch import nn
from transformers import PreTrainedModel


def muon_and_adamw(
    model: PreTrainedModel,
    muon_rate: float,
    adamw_rate: float,
    weight_decay: float,
    betas: tuple[float, float],
    embeddings_decay: float = 0.0,
) -> list[torch.optim.Optimizer]:
    """Two optimizers over `model`: its block matrices [out, in] orthogonalised, its vectors and embeddings by AdamW."""
    words = model.get_input_embeddings().weight
    matrices: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter is not words:
            inside = parameter.ndim == 2 and (".layers." in name or ".h." in name)
            (matrices if inside else rest).append(parameter)
    groups = [{"params": [words], "weight_decay": embeddings_decay}, {"params": rest, "weight_decay": 0.0}]
    return [
        # Rates are adjusted to a matrix's shape as by Muon's inventor.
        torch.optim.Muon(matrices, lr=muon_rate, weight_decay=weight_decay, adjust_lr_fn="original"),
        torch.optim.AdamW(groups, lr=adamw_rate, betas=betas, fused=True),
    ]
