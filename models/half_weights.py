"""Weights in float16 that FBGEMM, which torch brings along for x86, multiplies by float32 and adds up in float32."""

import warnings

import torch
from torch import Tensor

from models.scripted import scripted


def can_be_half() -> bool:
    """Whether this machine has such products."""
    return "fbgemm" in torch.backends.quantized.supported_engines


@scripted
def packed(weight: Tensor) -> Tensor:
    """`weight` `[out, in]` in float16, as FBGEMM reads it: a handle, which only `multiplied` understands."""
    found: Tensor = torch.ops._quantized.wrapped_fbgemm_pack_gemm_matrix_fp16(weight)
    return found


@scripted
def multiplied(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`x W^T + b` for `x` `[..., in]` and a `packed` weight, `[..., out]`; by one thread, however many there are."""
    product: Tensor = torch.ops._quantized.wrapped_fbgemm_linear_fp16_weight(x, weight, bias, bias.shape[0])
    return product


if can_be_half():
    # torch says once in a process that another name of theirs, which they are made of, will go.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        multiplied(torch.zeros(1, 1), packed(torch.zeros(1, 1)), torch.zeros(1))
