"""The product of a linear layer, by whichever numbers its weights are kept in."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.activations import activated
from models.scripted import scripted

PLAIN, EXACT, ROUNDED, WHOLE = "plain", "exact", "rounded", "whole"
"""As torch keeps weights; laid out for oneDNN in float32 or in bfloat16; whole multiples of a step, in 8 bits."""


@scripted
def multiply(x: Tensor, kind: str, weight: Tensor, step: Tensor, bias: Tensor, then: str) -> Tensor:
    """`x W^T + b` for `x` `[..., in]`, then an activation; `[..., out]`.

    What comes of bfloat16 stays in it, for the next product. `step` `[out]` is only read where the weights are whole.
    """
    # The kinds are spelt out: TorchScript reads no names of the module.
    if kind == "whole":
        shape = list(x.shape[:-1]) + [weight.shape[0]]  # noqa: RUF005
        rows = x.reshape(-1, x.shape[-1]).to(torch.bfloat16)
        found = torch.ops.aten._weight_int8pack_mm(rows, weight, step) + bias
        return activated(found, then).view(shape)
    if kind == "plain":
        return activated(torch.nn.functional.linear(x, weight, bias), then)
    if kind == "rounded":
        x = x.to(torch.bfloat16)
    # oneDNN computes the activation in the same pass, under names of its own.
    name, formula = then, ""
    if then == "gelu":
        formula = "none"
    if then == "gelu_tanh":
        name, formula = "gelu", "tanh"
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, name, [], formula)
    return product


class Numbers(NamedTuple):
    """The numbers of several layers, all of one `kind`; each has a weight, a step and a bias.

    TorchScript knows named tuples and no dataclasses.
    """

    kind: str
    weights: list[Tensor]
    steps: list[Tensor]
    biases: list[Tensor]


def in_a_row(parts: Sequence[Numbers]) -> Numbers:
    """The numbers of all `parts`, which are of one kind."""
    joined: list[list[Tensor]] = [[], [], []]
    for part in parts:
        for all_, some in zip(joined, (part.weights, part.steps, part.biases), strict=True):
            all_ += some
    return Numbers(parts[0].kind, *joined)


@scripted
def through(x: Tensor, numbers: Numbers, layer: int, then: str = "none") -> Tensor:
    """`multiply` by the numbers of one `layer`, counted from 0."""
    return multiply(x, numbers.kind, numbers.weights[layer], numbers.steps[layer], numbers.biases[layer], then)
