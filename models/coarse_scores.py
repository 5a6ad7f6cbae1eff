"""Scores over a whole vocabulary in 8 bits, those that can matter computed again exactly.

The output embedding is the largest matrix of a small model, and one token reads all of it to write one word. In 8 bits
there is a quarter to read. Only the best scores are ever shown or chosen from: these are exact, and the errors of all
others, which only share what probability is left, balance each other.

Processors without instructions for it (VNNI) add products of bytes up in 16 bits, two by two, which hold no more than
32,767 (oneDNN's guide "Nuances of int8 computations"): there weights have 7 bits.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from models.layout import is_quick
from models.scores import MOST, Best, largest
from models.scripted import scripted

MOST_ROWS = 64
"""A product of more rows is bound by arithmetic and not by reading, and exact as it is."""

SMALLEST_VOCABULARY = 4096
_LEVELS, _MIDDLE = 127, 128
_LEVELS_OF_7_BITS = 63
_LEAST = torch.finfo(torch.float32).tiny


def can_be_coarse(weight: Tensor) -> bool:
    """Whether scores by `weight` `[vocabulary, in]` gain by it, on this machine."""
    return len(weight) >= SMALLEST_VOCABULARY and "fbgemm" in torch.backends.quantized.supported_engines


@cache
def levels_of_weights() -> int:
    """The largest whole number that a weight may be for this processor's products of bytes to be right."""
    inputs, most = torch.full((1, 64), 255, dtype=torch.uint8), torch.full((64, 64), _LEVELS, dtype=torch.int8)
    laid_out = torch.ops.onednn.qlinear_prepack(most, None)
    plain = torch.ones(64), torch.zeros(64, dtype=torch.long)
    sums = _product_of_bytes(inputs, 0, laid_out, *plain)
    return _LEVELS if bool((sums == 255 * _LEVELS * 64).all()) else _LEVELS_OF_7_BITS


def in_bytes(weight: Tensor, levels: int = _LEVELS) -> tuple[Tensor, Tensor]:
    """A `weight` `[vocabulary, in]` in whole numbers up to `levels`, and the scales `[vocabulary]` of its rows."""
    scales = weight.abs().amax(dim=1).clamp_min(_LEAST) / levels
    return (weight / scales[:, None]).round().to(torch.int8), scales


class Coarse(NamedTuple):
    """A weight `[vocabulary, in]`, exactly and in 8 bits; the scales and zeros `[vocabulary]` of the latter."""

    exact: Tensor
    weight: Tensor
    scales: Tensor
    zeros: Tensor


class CoarseScores:
    """`x W^T + b` with `W` `[vocabulary, in]`, each row of `W` and of `x` rounded to 8 bits of its own scale."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        exact = weight.detach()
        self._bias = None if bias is None else bias.detach()
        rounded, scales = in_bytes(exact, levels_of_weights())
        self.bytes = rounded.nbytes
        laid_out: Tensor = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.numbers = Coarse(exact, laid_out, scales, torch.zeros(len(scales), dtype=torch.long))

    def suits(self, x: Tensor) -> bool:
        """Whether rounding is allowed, and there are few enough rows in `x` `[..., in]`."""
        return x.dtype == torch.float32 and self.suits_rows(x.numel() // x.shape[-1])

    def suits_rows(self, rows: int) -> bool:
        """The same for so many rows of float32."""
        return rows <= MOST_ROWS and is_quick() and not torch.is_grad_enabled()

    def bias(self, added: Tensor | None = None) -> Tensor | None:
        """The bias, and what is `added` `[vocabulary]` to it."""
        return self._bias if added is None else added if self._bias is None else self._bias + added

    def product(self, x: Tensor) -> Tensor:
        """`[..., in]` to `[..., vocabulary]`."""
        return self.best(x.reshape(-1, x.shape[-1])).logits.view(*x.shape[:-1], -1)

    def best(self, x: Tensor, added: Tensor | None = None) -> Best:
        """The same for rows `[row, in]`, and the best of each; `added` `[vocabulary]` counts as a bias."""
        return Best(*coarse_best(x, self.numbers, self.bias(added), MOST))


@scripted
def _product_of_bytes(inputs: Tensor, middle: int, weight: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    """`inputs` `[row, in]`, of which `middle` stands for zero, by a weight that is laid out, each output scaled."""
    product: Tensor = torch.ops.onednn.qlinear_pointwise(
        inputs, 1.0, middle, weight, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""
    )
    return product


@scripted
def coarse_best(
    rows: Tensor,
    numbers: Coarse,
    bias: Tensor | None,
    best: int,
    levels: int = _LEVELS,
    middle: int = _MIDDLE,
    least: float = _LEAST,
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores `[row, vocabulary]` of `rows` `[row, in]`, by the weight in 8 bits, the `best` by the exact one.

    And the ids and log-probabilities `[row, best]` of these, best first.
    """
    steps = rows.abs().amax(1, True).clamp_min_(least).div_(levels)
    # Half a level above the middle, so that what is cut off behind the point is rounded.
    inputs = (rows / steps).add_(middle + 0.5).to(torch.uint8)
    scores = _product_of_bytes(inputs, middle, numbers.weight, numbers.scales, numbers.zeros)
    scores *= steps
    if bias is not None:
        scores += bias
    places = largest(scores, best)
    again = torch.embedding(numbers.exact, places).mul_(rows[:, None]).sum(dim=2)
    if bias is not None:
        again = again + bias[places]
    scores.scatter_(1, places, again)
    values, order = again.sort(dim=1, descending=True)
    return scores, places.gather(1, order), values - scores.logsumexp(1, True)
