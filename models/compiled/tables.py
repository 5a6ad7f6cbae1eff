"""Weights in the order and the numbers in which compiled passes read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.kernels.encoder_layout import FACTOR, MOST_INPUT
from models.kernels.layout import OUTPUTS

Array = NDArray[Any]

_MOST_WEIGHT = 2**15 - 1
_MOST_SUM = (2**31 - 1) // MOST_INPUT - OUTPUTS // 2
"""Of a group's weights, of which each may grow by a half when it is rounded."""


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
    return _pairs(torch.stack([each.detach().bfloat16().view(torch.int16) for each in weights])).numpy()


def in_whole(weights: Sequence[Tensor]) -> Array:
    """Weights `[out, in]` of all blocks as whole numbers in the same order; behind each tile its outputs' factors.

    They are as large as they can be without a sum over a group of inputs that 32 bits could not hold.
    """
    exact = torch.stack([each.detach() for each in weights])
    size = exact.abs()
    sums = size.view(*size.shape[:2], -1, OUTPUTS).sum(-1).amax(-1)
    factors = torch.maximum(size.amax(-1) / _MOST_WEIGHT, sums / _MOST_SUM).clamp(min=torch.finfo(torch.float32).tiny)
    numbers = _pairs((exact / factors[..., None]).round().to(torch.int16))
    behind = factors.view(*numbers.shape[:2], OUTPUTS).view(torch.int16).view(*numbers.shape[:2], FACTOR, OUTPUTS)
    found: Array = torch.cat([numbers, behind], 2).numpy()
    return found


def _pairs(numbers: Tensor) -> Tensor:
    """`[block, out, in]` as `[block, tile, in, 64]`, in which two inputs' numbers for an output stand side by side."""
    blocks, out, inputs = numbers.shape
    pairs = numbers.view(blocks, out // OUTPUTS, OUTPUTS, inputs // 2, 2).transpose(2, 3)
    return pairs.contiguous().view(blocks, out // OUTPUTS, inputs, OUTPUTS)


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
