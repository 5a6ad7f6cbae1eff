"""Weights in the order and the numbers in which compiled passes read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.kernels.layout import OUTPUTS

Array = NDArray[Any]


def tiles(weight: Tensor) -> Tensor:
    """A weight `[out, in]` as `[tile, in, 64]`, filled up with zeros."""
    left = -len(weight) % OUTPUTS
    filled = torch.cat([weight, weight.new_zeros(left, weight.shape[1])]) if left else weight
    return filled.view(-1, OUTPUTS, weight.shape[1]).transpose(1, 2).contiguous()


def in_halves(weights: Sequence[Tensor]) -> Array:
    """Weights `[out, in]` of all blocks as tiles of float16, kept as whole numbers of the same bits."""
    found: Array = torch.stack([tiles(each.detach().half()) for each in weights]).view(torch.int16).numpy()
    return found


def in_pairs(weights: Sequence[Tensor]) -> Array:
    """Weights `[out, in]` of all blocks in bfloat16, those of two inputs side by side: tiles `[in / 2, 64, 2]`."""
    rounded = torch.stack([each.detach().bfloat16().view(torch.int16) for each in weights])
    blocks, out, inputs = rounded.shape
    pairs = rounded.view(blocks, out // OUTPUTS, OUTPUTS, inputs // 2, 2).transpose(2, 3)
    found: Array = pairs.contiguous().view(blocks, out // OUTPUTS, inputs, OUTPUTS).numpy()
    return found


def floats(parts: Sequence[Tensor]) -> Array:
    """`parts` of the same size under one another."""
    found: Array = torch.stack([each.detach() for each in parts]).numpy()
    return found


def table(numbers: Tensor) -> Array:
    """Numbers that are shared with whoever has them."""
    found: Array = numbers.detach().numpy()
    return found


def empty(*shape: int) -> Array:
    """An array of float32."""
    return np.empty(shape, np.float32)
