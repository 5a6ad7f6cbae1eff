"""What lean readers share: who listens to a network, texts side by side, and the numbers of its layers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from models.layout import LaidOut
from models.products import PLAIN, Numbers, in_a_row

Map = Callable[[Tensor], Tensor]
"""From `[..., in]` to `[..., out]`."""

FUSED = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "swish": "swish",
         "silu": "swish"}  # fmt: skip
"""Activations by their names in configurations and in products."""


_CAPTURING = "transformers.utils.output_capturing"


@dataclass(frozen=True, eq=False)
class Layers:
    """The numbers of a network's linear layers, in the order in which they read, and its norms' tables."""

    numbers: Numbers
    norms: list[Tensor]
    epsilons: list[float]

    @classmethod
    def of(cls, linear: Sequence[Any], norms: Sequence[nn.LayerNorm]) -> "Layers":
        """Those of `linear` layers, each a module or several that read the same, with what has them laid out jointly.

        By their layouts where all of these may be used now.
        """
        layouts = [_usable(each) for each in linear]
        tables: list[Tensor] = [table for norm in norms for table in (norm.weight, norm.bias)]
        epsilons = [norm.eps for norm in norms]
        usable = [layout for layout in layouts if layout]
        if len(usable) < len(layouts):
            return cls(in_a_row([_plain(each) for each in linear]), tables, epsilons)
        return cls(in_a_row([layout.numbers for layout in usable]), tables, epsilons)


@dataclass(frozen=True)
class Joint:
    """The `layers` of an `attention` that read the same."""

    attention: Any
    layers: Sequence[nn.Linear]


def listeners(modules: Iterable[nn.Module]) -> tuple[Mapping[int, Any], ...]:
    """Where those are listed who listen to `modules`, now and later."""
    return tuple(hooks for module in modules for hooks in (module._forward_hooks, module._forward_pre_hooks))


def are_watched(listed: Iterable[Mapping[int, Any]]) -> bool:
    """Whether anybody listens, and must be given what transformers would give.

    transformers leaves its own listeners behind when it has captured attention once; they only listen while it does.
    """
    return any(getattr(each, "__module__", "") != _CAPTURING for some in listed if some for each in some.values())


def numbers_of(layer: nn.Linear) -> Numbers:
    """Those of one linear layer, by its layout where that may be used now."""
    layout = _usable(layer)
    return _plain(layer) if layout is None else layout.numbers


def _usable(layer: Any) -> LaidOut | None:
    first = layer.layers[0] if isinstance(layer, Joint) else layer
    layout = getattr(layer.attention, "joint", None) if isinstance(layer, Joint) else getattr(layer, "layout", None)
    return (
        layout if isinstance(layout, LaidOut) and first.weight.dtype == torch.float32 and layout.may_be_used else None
    )


def _plain(layer: Any) -> Numbers:
    if isinstance(layer, Joint):
        weight = torch.cat([each.weight for each in layer.layers])
        bias = torch.cat([each.bias for each in layer.layers])
    else:
        weight, bias = layer.weight.T if isinstance(layer, Conv1D) else layer.weight, layer.bias
    return Numbers(PLAIN, [weight], [bias], [])
