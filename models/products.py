"""The product of a linear layer, by whichever numbers its weights are kept in."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.activations import activated
from models.half_weights import Half, multiplied
from models.scripted import scripted

PLAIN, EXACT, HALF, ROUNDED = "plain", "exact", "half", "rounded"
"""As torch keeps weights; laid out for oneDNN in float32; for FBGEMM in float16; for oneDNN in bfloat16."""


class Numbers(NamedTuple):
    """The numbers of several layers, all of one `kind`; each has a weight and a bias, or both together as a half.

    TorchScript knows named tuples and no dataclasses.
    """

    kind: str
    weights: list[Tensor]
    biases: list[Tensor]
    halves: list[Half]


def in_a_row(parts: Sequence[Numbers]) -> Numbers:
    """The numbers of all `parts`, which are of one kind."""
    weights = [weight for part in parts for weight in part.weights]
    biases = [bias for part in parts for bias in part.biases]
    return Numbers(parts[0].kind, weights, biases, [half for part in parts for half in part.halves])


@scripted
def through(x: Tensor, numbers: Numbers, layer: int, then: str = "none") -> Tensor:
    """`x W^T + b` by one `layer`, counted from 0, for `x` `[..., in]`, then an activation; `[..., out]`.

    What comes of bfloat16 stays in it, for the next product.
    """
    # The kinds are spelt out: TorchScript reads no names of the module.
    if numbers.kind == "half":
        return activated(multiplied(x, numbers.halves[layer]), then)
    weight, bias = numbers.weights[layer], numbers.biases[layer]
    if numbers.kind == "plain":
        return activated(torch.nn.functional.linear(x, weight, bias), then)
    if numbers.kind == "rounded":
        x = x.to(torch.bfloat16)
    # oneDNN computes the activation in the same pass, under names of its own.
    name, formula = then, ""
    if then == "gelu":
        formula = "none"
    if then == "gelu_tanh":
        name, formula = "gelu", "tanh"
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, name, [], formula)
    return product
