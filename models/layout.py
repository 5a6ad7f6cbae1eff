"""A layer's weights in the order and the numbers in which this processor reads them.

torch's own product of float32 matrices takes them as they are stored; oneDNN's, which torch brings along, wants blocks
in the order in which the processor reads them. In float32 the numbers are the same but for rounding. In bfloat16 they
are computed only inside `quickly`, for answers; whoever looks into a network sees its exact numbers. oneDNN knows no
gradient: where one is wanted a layer answers as it always did.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor

from models.precision import Precision
from models.products import EXACT, ROUNDED, Numbers, through
from models.whole_steps import MOST_ROWS, whole_steps

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
    """A weight `[out, in]` and a bias for oneDNN, in the numbers of `precision`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, precision: Precision) -> None:
        self.is_exact = precision != Precision.BFLOAT16
        dtype = torch.float32 if self.is_exact else torch.bfloat16
        given = weight.detach().to(dtype).contiguous()
        added = torch.zeros(len(weight)) if bias is None else bias.detach()
        self.bytes = given.nbytes
        laid_out: Tensor = torch.ops.mkldnn._reorder_linear_weight(given, _TYPICAL_ROWS)
        added_as_well = added.to(dtype)
        self.numbers = Numbers(EXACT if self.is_exact else ROUNDED, [laid_out], [added_as_well], [added_as_well])
        self.few = None if self.is_exact else whole_steps(weight, added)
        """The same for up to `MOST_ROWS` rows, where they may be had in fewer bits."""

    def suits(self, x: Tensor) -> bool:
        """Whether `x` is float32 and needs no gradient, and rounding is allowed where these numbers are rounded."""
        return x.dtype == torch.float32 and not torch.is_grad_enabled() and (self.is_exact or _quick.get())

    def product(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`, in float32 again."""
        return self.raw(x).float()

    def raw(self, x: Tensor, then: str = "none") -> Tensor:
        """`[..., in]` to `[..., out]`, then an activation, in numbers for the next layout."""
        numbers = self.few if self.few and x.numel() <= MOST_ROWS * x.shape[-1] else self.numbers
        product: Tensor = through(x, numbers, 0, then)
        return product
