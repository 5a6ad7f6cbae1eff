"""Linear layers whose weights are laid out for this processor once, not at every call.

torch's own product of float32 matrices takes them as they are stored; oneDNN's, which torch brings along, wants blocks
in the order in which the processor reads them. The numbers are the same but for rounding. It knows no gradient: where
one is wanted a layer answers as it always did.
"""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

_TYPICAL_ROWS = 32
"""The layout depends a little on how many rows are to come; this one suits all numbers up to 384."""


def pack(network: PreTrainedModel) -> None:
    """Let every linear layer of `network` keep its weights in both layouts, where this processor gains by it.

    Whoever changes a weight afterwards must pack again.
    """
    on_cpu = network.device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not on_cpu or network.dtype != torch.float32:
        return
    for module in network.modules():
        if type(module) in _PACKED:
            module.__class__ = _PACKED[type(module)]
        if isinstance(module, Packed):
            module.pack()


class PackedLinear(nn.Linear):
    """`x W^T + b` with `W` `[out, in]`."""

    def pack(self) -> None:
        """Lay the weights out."""
        self._packed = _laid_out(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        return _product(x, self._packed, self.bias) if _gains(x) else super().forward(x)


class PackedConv1D(Conv1D):
    """`x W + b` with `W` `[in, out]`, GPT-2's way to write a linear layer."""

    def pack(self) -> None:
        """Lay the weights out."""
        self._packed = _laid_out(self.weight.T.contiguous())

    def forward(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., out]`."""
        if _gains(x):
            return _product(x, self._packed, self.bias)
        answer: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return answer


Packed = PackedLinear | PackedConv1D

_PACKED: dict[type, type[Packed]] = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}


def _laid_out(weight: Tensor) -> Tensor:
    laid_out: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _TYPICAL_ROWS)
    return laid_out


def _product(x: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return product


def _gains(x: Tensor) -> bool:
    return x.dtype == torch.float32 and not torch.is_grad_enabled()
