"""Products that are nearly exact, for attention that is looked at: in bfloat16 it strays up to 0.024 from its weights.

Each way takes half of float32's memory and rounds an eighth as much as bfloat16: attention stays within 0.0009.
"""

from typing import Protocol

import torch
from torch import Tensor

from models.activations import activated
from models.half_weights import can_be_half, multiplied, packed

_BYTE = 256
_MOST = 127 * _BYTE
"""The largest multiple of a step whose two signed bytes are both in their range."""

_LEAST = torch.finfo(torch.float32).tiny


class Way(Protocol):
    """`x W^T + b` with `W` `[out, in]` and `b` `[out]`."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Lay out the weights."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`, both in float32."""
        ...


class InFloat16:
    """Weights in float16, what they multiply and the sums in float32: as quick as float32 laid out."""

    is_opaque = True

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._half = packed(weight, bias)
        self.bytes = weight.numel() * 2

    def __call__(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        return multiplied(x, self._half)


class InTwoBytes:
    """Weights and what they multiply in 16 bits each, as two bytes of 8: for processors that multiply tiles of bytes.

    With `x = s (256 x1 + x0)` and `W = t (256 W1 + W0)`, a scale for each row of both, `x W^T` is the sum of four
    products of bytes, which are exact. That of the two low bytes counts, too: a row of a large network has a few
    numbers that dwarf the others, and without it attention strays four times as far.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        steps = _steps(weight.detach())
        high, low = _bytes(weight.detach(), steps)
        self._high, self._low = (torch.ops.onednn.qlinear_prepack(each, None) for each in (high, low))
        self._low_steps = steps[:, 0]
        self._high_steps = _BYTE * self._low_steps
        self._zeros = torch.zeros(len(weight), dtype=torch.long)
        self._bias = bias.detach()
        # Looked up once: finding the overload again costs as much as a small product.
        self._multiply = torch.ops.onednn.qlinear_pointwise.default
        self._multiply_and_add = torch.ops.onednn.qlinear_pointwise.binary

    def __call__(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        rows = x.reshape(-1, x.shape[-1])
        steps = _steps(rows)
        # Both bytes of x as rows of one matrix, so that the weights are read once for both.
        given = _bytes(rows, steps).view(-1, rows.shape[1])
        both = self._multiply(
            given, _BYTE, 0, self._high, self._high_steps, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        both = self._multiply_and_add(
            given, _BYTE, 0, self._low, self._low_steps, self._zeros, both, None, 1.0, 0, torch.float32, 1.0, 0,
            "sum", 1.0, "none", [], "",
        )  # fmt: skip
        of_high, of_low = both.view(2, len(rows), -1).unbind()
        product: Tensor = of_high.add_(of_low, alpha=1 / _BYTE).mul_(steps).add_(self._bias)
        return product.view(*x.shape[:-1], -1)


def ways() -> tuple[type[Way], ...]:
    """Those that this machine has, the quickest first."""
    # Four products gain nothing where bytes are only four times as quick as float32, as they are without tiles.
    tiled = torch.cpu._is_amx_tile_supported() and "onednn" in torch.backends.quantized.supported_engines
    return (InTwoBytes,) * tiled + (InFloat16,) * can_be_half()


def can_be_near() -> bool:
    """Whether this machine has such products."""
    return bool(ways())


class NearProduct:
    """`x W^T + b` with `W` `[out, in]`, in the quickest way."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._product = ways()[0](weight, bias)

    def __call__(self, x: Tensor, then: str = "none") -> Tensor:
        """`[..., in]` to `[..., out]`, then an activation."""
        return activated(self._product(x), then)


def _steps(numbers: Tensor) -> Tensor:
    """Of what each row of `numbers` `[row, in]` is a multiple, `[row, 1]`, so that all of them fit in two bytes."""
    return numbers.abs().amax(dim=1, keepdim=True).clamp_min_(_LEAST).div_(_MOST)


def _bytes(numbers: Tensor, steps: Tensor) -> Tensor:
    """`numbers` `[row, in]` in multiples of their rows' `steps` `[row, 1]`: high and low bytes, `[2, row, in]`."""
    multiples = (numbers / steps).round_().to(torch.int16)
    found = torch.empty(2, *numbers.shape, dtype=torch.int8)
    high, low = found
    # The low byte is signed, so that it is as often negative as not; the high one is rounded to match.
    low.copy_(multiples)
    high.copy_(multiples.add_(_BYTE // 2).bitwise_right_shift_(8))
    return found
