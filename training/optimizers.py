"""Muon for the matrices inside the blocks, AdamW for everything else, as both generators are trained."""

import torch
from torch import nn

from training.tiles import Muon


def muon_and_adamw(
    model: nn.Module, muon_rate: float, adamw_rate: float, weight_decay: float, betas: tuple[float, float]
) -> list[torch.optim.Optimizer]:
    """Two optimizers over `model`: its block matrices [out, in] orthogonalised, its vectors and embeddings by AdamW."""
    matrices, rest = [], []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            inside = parameter.ndim == 2 and (".layers." in name or ".h." in name)
            (matrices if inside else rest).append(parameter)
    return [
        Muon(matrices, lr=muon_rate, weight_decay=weight_decay),
        torch.optim.AdamW(rest, lr=adamw_rate, betas=betas, weight_decay=0.0, fused=True),
    ]
