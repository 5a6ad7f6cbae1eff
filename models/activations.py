"""Activations by the names that `models/products.py` gives them."""

import torch
from torch import Tensor

from models.scripted import scripted


@scripted
def activated(x: Tensor, then: str) -> Tensor:
    """`x` after the activation `then`: none, relu, gelu, gelu_tanh, swish or tanh."""
    if then == "relu":
        return torch.relu(x)
    if then == "gelu":
        return torch.nn.functional.gelu(x)
    if then == "gelu_tanh":
        return torch.nn.functional.gelu(x, approximate="tanh")
    if then == "swish":
        return torch.nn.functional.silu(x)
    if then == "tanh":
        return torch.tanh(x)
    return x
