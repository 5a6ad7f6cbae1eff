"""What lean readers share: heads apart and together, attention over what is remembered, and layers without detours.

The functions that come of a layer hold its numbers as they are now; a reader makes them anew for each text.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.layout import LaidOut

Map = Callable[[Tensor], Tensor]
"""From `[..., in]` to `[..., out]`."""

FUSED = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "swish": "swish",
         "silu": "swish"}  # fmt: skip
"""Activations by their names in configurations and in layouts."""


def heads_apart(x: Tensor, heads: int) -> Tensor:
    """`[row, token, heads * width]` as `[row, head, token, width]`."""
    rows, tokens, width = x.shape
    return x.view(rows, tokens, heads, width // heads).transpose(1, 2)


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """What each query `[row, head, new, width]`, the last ones of the text, finds at itself and before.

    Back comes `[row, new, heads * width]`.
    """
    rows, heads, new, width = queries.shape
    # A single query is the last token and may see all; several are a whole text that is read for the first time.
    found = functional.scaled_dot_product_attention(queries, keys, values, is_causal=new > 1)
    return found.transpose(1, 2).reshape(rows, new, heads * width)


def norm_of(norm: nn.LayerNorm) -> Map:
    """Layer norm without the module's way round."""
    return partial(
        torch.layer_norm,
        normalized_shape=list(norm.normalized_shape),
        weight=norm.weight,
        bias=norm.bias,
        eps=norm.eps,
    )


def map_of(layer: Any) -> Map:
    """A linear layer; by its laid out weights where these may be used now."""
    layout = _usable(layer)
    return layout.product if layout else layer.forward


def feed_forward_of(wide: Any, narrow: Any, activation: str, otherwise: Map) -> Map:
    """Two linear layers with `activation` between them; one whose name is not known is computed by `otherwise`."""
    first, second, then = _usable(wide), _usable(narrow), FUSED.get(activation)
    if first and second and then:
        # What lies between the two stays in the numbers in which they multiply.
        return lambda x: second.product(first.raw(x, then))
    widen, narrow_down = map_of(wide), map_of(narrow)
    return lambda x: narrow_down(otherwise(widen(x)))


def _usable(layer: Any) -> LaidOut | None:
    layout = getattr(layer, "layout", None)
    return layout if isinstance(layout, LaidOut) and layout.suits(layer.weight[:0]) else None
