"""Linear layers whose weights are laid out for this processor once, not at every call.

torch's own product of float32 matrices takes them as they are stored; oneDNN's, which torch brings along, wants blocks
in the order in which the processor reads them. In float32 the numbers are the same but for rounding. In bfloat16 they
are computed only inside `quickly`, for answers; whoever looks into a network sees its exact numbers. oneDNN knows no
gradient: where one is wanted a layer answers as it always did.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.precision import Precision

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


def pack(network: PreTrainedModel, precision: Precision = Precision.FLOAT32) -> None:
    """Let every linear layer of `network` keep its weights laid out, too, where this processor gains by it.

    The output embedding is exact in every precision: its rounding would move the probabilities of a large vocabulary
    more than that of all other layers. Whoever changes a weight afterwards must pack again.
    """
    on_cpu = network.device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not on_cpu or network.dtype != torch.float32:
        return
    output = network.get_output_embeddings()  # type: ignore[no-untyped-call]
    for module in network.modules():
        if type(module) in _PACKED:
            module.__class__ = _PACKED[type(module)]
        if isinstance(module, Packed):
            module.pack(Precision.FLOAT32 if module is output else precision)


class PackedLinear(nn.Linear):
    """`x W^T + b` with `W` `[out, in]`."""

    def pack(self, precision: Precision) -> None:
        """Lay the weights out."""
        self._packed = _LaidOut(self.weight, self.bias, precision)

    @property
    def bytes_read(self) -> int:
        """What a quick product reads of the weights."""
        return self._packed.bytes

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        return self._packed.product(x) if self._packed.suits(x) else super().forward(x)


class PackedConv1D(Conv1D):
    """`x W + b` with `W` `[in, out]`, GPT-2's way to write a linear layer."""

    def pack(self, precision: Precision) -> None:
        """Lay the weights out."""
        self._packed = _LaidOut(self.weight.T, self.bias, precision)

    @property
    def bytes_read(self) -> int:
        """What a quick product reads of the weights."""
        return self._packed.bytes

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        if self._packed.suits(x):
            return self._packed.product(x)
        answer: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return answer


Packed = PackedLinear | PackedConv1D

_PACKED: dict[type, type[Packed]] = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}


class _LaidOut:
    """The weight `[out, in]` and the bias of a layer in the order and the numbers in which they are read."""

    def __init__(self, weight: Tensor, bias: Tensor | None, precision: Precision) -> None:
        self._dtype = torch.bfloat16 if precision == Precision.BFLOAT16 else torch.float32
        given = weight.detach().to(self._dtype).contiguous()
        self.bytes = given.nbytes
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(given, _TYPICAL_ROWS)
        self._bias = None if bias is None else bias.detach().to(self._dtype)

    def suits(self, x: Tensor) -> bool:
        """Whether `x` may be multiplied by these numbers."""
        exact = self._dtype == torch.float32
        return x.dtype == torch.float32 and not torch.is_grad_enabled() and (exact or _quick.get())

    def product(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`, in float32 again."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x.to(self._dtype), self._weight, self._bias, "none", [], ""
        )
        return product.float()
