"""Weights in float16 that FBGEMM, which torch brings along for x86, multiplies by float32 and adds up in float32."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.scripted import scripted

if TYPE_CHECKING:
    Half = torch.ScriptObject
else:
    # TorchScript wants the very class.
    Half = torch.classes.quantized.LinearPackedParamsBase
"""A weight and a bias as FBGEMM reads them: what `packed` makes and only `multiplied` understands."""


def can_be_half() -> bool:
    """Whether this machine has such products."""
    return "fbgemm" in torch.backends.quantized.supported_engines


def packed(weight: Tensor, bias: Tensor) -> Half:
    """`weight` `[out, in]` in float16, and `bias` `[out]` in float32."""
    found: Half = torch.ops.quantized.linear_prepack_fp16(weight.detach().contiguous(), bias.detach())
    return found


@scripted
def multiplied(x: Tensor, half: Half) -> Tensor:
    """`x W^T + b` for `x` `[..., in]`, `[..., out]`; threads share the outputs."""
    product: Tensor = torch.ops.quantized.linear_dynamic_fp16(x, half)
    return product
