"""What lean readers share: heads apart and together, attention over what is remembered, and layers without detours.

The functions that come of a layer hold its numbers as they are now; a reader makes them anew for each text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.layout import LaidOut
from models.lean.key_values import KeyValues

Map = Callable[[Tensor], Tensor]
"""From `[..., in]` to `[..., out]`."""

FUSED = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "swish": "swish",
         "silu": "swish"}  # fmt: skip
"""Activations by their names in configurations and in layouts."""


_CAPTURING = "transformers.utils.output_capturing"


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Texts of several sizes side by side, so that a product runs over all of them; `ids` is `[token of any text]`.

    `sizes` are each text's rows and tokens, and `lasts` the places of the last token of every row.
    """

    ids: Tensor
    sizes: tuple[tuple[int, int], ...]
    lasts: Tensor

    @classmethod
    def of(cls, ids: Sequence[Tensor]) -> "SideBySide":
        """The texts `ids`, each `[row, token]`."""
        sizes = tuple((len(each), each.shape[1]) for each in ids)
        flat = torch.cat([each.reshape(-1) for each in ids]) if len(ids) > 1 else ids[0].reshape(-1)
        lasts = accumulate(tokens for rows, tokens in sizes for _ in range(rows))
        return cls(flat, sizes, torch.tensor([last - 1 for last in lasts], device=flat.device))

    def places(self, read: Sequence[int]) -> Tensor:
        """Where in its text each token stands, when so many of it were `read` before."""
        found = []
        for (rows, tokens), before in zip(self.sizes, read, strict=True):
            if before and tokens > 1:
                raise ValueError("after its beginning a text is read token by token")
            found += list(range(before, before + tokens)) * rows
        return torch.tensor(found, device=self.ids.device)

    def apart(self, x: Tensor) -> Sequence[Tensor]:
        """`[token of any text, width]` as each text's `[row, token, width]`."""
        if len(self.sizes) == 1:
            return (x.view(*self.sizes[0], -1),)
        parts = torch.split(x, [rows * tokens for rows, tokens in self.sizes])
        return [part.view(*size, -1) for part, size in zip(parts, self.sizes, strict=True)]

    def together(self, parts: Sequence[Tensor]) -> Tensor:
        """Each text's `[row, token, width]` as `[token of any text, width]`."""
        flat = [part.reshape(-1, part.shape[-1]) for part in parts]
        return torch.cat(flat) if len(flat) > 1 else flat[0]


def listeners(modules: Iterable[nn.Module]) -> tuple[Mapping[int, Any], ...]:
    """Where those are listed who listen to `modules`, now and later."""
    return tuple(hooks for module in modules for hooks in (module._forward_hooks, module._forward_pre_hooks))


def are_watched(listed: Iterable[Mapping[int, Any]]) -> bool:
    """Whether anybody listens, and must be given what transformers would give.

    transformers leaves its own listeners behind when it has captured attention once; they only listen while it does.
    """
    return any(getattr(each, "__module__", "") != _CAPTURING for some in listed if some for each in some.values())


def heads_apart(x: Tensor, heads: int) -> Tensor:
    """`[row, token, heads * width]` as `[row, head, token, width]`."""
    rows, tokens, width = x.shape
    return x.view(rows, tokens, heads, width // heads).transpose(1, 2)


def attended(joint: Tensor, heads: int, remembered: KeyValues) -> Tensor:
    """What the last tokens of a text find at themselves and at those that are `remembered`, which they join.

    `joint` `[row, new, 3 * heads * width]` has their queries, keys and values side by side; back comes
    `[row, new, heads * width]`.
    """
    rows, new, both = joint.shape
    apart = joint.view(rows, new, 3, heads, both // (3 * heads)).permute(2, 0, 3, 1, 4)
    keys, values = remembered.add(apart[1:])
    # A single query is the last token and may see all; several are a whole text that is read for the first time.
    found = functional.scaled_dot_product_attention(apart[0], keys, values, is_causal=new > 1)
    return found.transpose(1, 2).reshape(rows, new, both // 3)


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


def joint_of(attention: Any, layers: Sequence[Any]) -> Map:
    """The `layers` of an `attention` that read the same, their outputs side by side; in one product if laid out so."""
    layout, apart = getattr(attention, "joint", None), [map_of(each) for each in layers]
    if isinstance(layout, LaidOut) and layout.suits(layers[0].weight[:0]):
        return layout.product
    return lambda x: torch.cat([each(x) for each in apart], dim=-1)


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
