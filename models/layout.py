"""A layer's weights in the order and the numbers in which this processor reads them.

torch's own product of float32 matrices takes them as they are stored; oneDNN's and FBGEMM's, which torch brings along,
want blocks in the order in which the processor reads them. In float32 the numbers are the same but for rounding. In 16
bits they are computed only inside `quickly`, for answers; whoever looks into a network sees its exact numbers. Neither
knows a gradient: where one is wanted a layer answers as it always did.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor

from models.half_weights import packed
from models.precision import Precision
from models.products import EXACT, HALF, ROUNDED, Numbers, through

_TYPICAL_ROWS = 32
"""The layout depends a little on how many rows are to come; this one suits all numbers up to 384."""

_quick: ContextVar[bool] = ContextVar("quick", default=False)


@contextmanager
def quickly() -> Iterator[None]:
    """Let networks that were packed in a lower precision compute in it; a generator must not yield inside."""
    token = _quick.set(True)
    try:
        yield
    finally:
        _quick.reset(token)


def is_quick() -> bool:
    """Whether answers may be computed in a lower precision here."""
    return _quick.get()


class Layout(Protocol):
    """Weights `[out, in]`, laid out."""

    bytes: int
    """What a product reads of them."""

    def suits(self, x: Tensor) -> bool:
        """Whether `x` may be multiplied by these numbers."""
        ...

    def product(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`, in float32."""
        ...


class LaidOut:
    """A weight `[out, in]` and a bias, in the numbers of `precision`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, precision: Precision) -> None:
        self.is_exact = precision == Precision.FLOAT32
        added = torch.zeros(len(weight)) if bias is None else bias.detach()
        self.bytes = weight.numel() * (4 if self.is_exact else 2)
        if precision == Precision.FLOAT16:
            self.numbers = Numbers(HALF, [], [], [packed(weight, added)])
            return
        kind, dtype = (EXACT, torch.float32) if self.is_exact else (ROUNDED, torch.bfloat16)
        given = weight.detach().to(dtype).contiguous()
        laid_out: Tensor = torch.ops.mkldnn._reorder_linear_weight(given, _TYPICAL_ROWS)
        self.numbers = Numbers(kind, [laid_out], [added.to(dtype)], [])

    @property
    def is_opaque(self) -> bool:
        """Whether these numbers are FBGEMM's own, whose bytes nobody else can count."""
        return bool(self.numbers.halves)

    def suits(self, x: Tensor) -> bool:
        """Whether `x` is float32 and may be multiplied by these numbers here."""
        return x.dtype == torch.float32 and self.may_be_used

    @property
    def may_be_used(self) -> bool:
        """Whether nobody needs a gradient here, and rounding is allowed where these numbers are rounded."""
        return not torch.is_grad_enabled() and (self.is_exact or _quick.get())

    def product(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`, in float32 again."""
        return self.raw(x).float()

    def raw(self, x: Tensor, then: str = "none") -> Tensor:
        """`[..., in]` to `[..., out]`, then an activation, in numbers for the next layout."""
        product: Tensor = through(x, self.numbers, 0, then)
        return product
