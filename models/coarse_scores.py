"""Scores over a whole vocabulary in 8 bits, those that can matter computed again exactly.

The output embedding is the largest matrix of a small model, and one token reads all of it to write one word. In 8 bits
there is a quarter to read. Only the best scores are ever shown or chosen from: these are exact, and the errors of all
others, which only share what probability is left, balance each other.
"""

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
_LEAST = torch.finfo(torch.float32).tiny


def can_be_coarse(weight: Tensor) -> bool:
    """Whether scores by `weight` `[vocabulary, in]` gain by it, on this machine."""
    return len(weight) >= SMALLEST_VOCABULARY and "fbgemm" in torch.backends.quantized.supported_engines


def in_bytes(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A `weight` `[vocabulary, in]` in whole numbers of 8 bits, and the scales `[vocabulary]` of its rows."""
    scales = weight.abs().amax(dim=1).clamp_min(_LEAST) / _LEVELS
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
        rounded, scales = in_bytes(exact)
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
    scores: Tensor = torch.ops.onednn.qlinear_pointwise(
        inputs, 1.0, middle, numbers.weight, numbers.scales, numbers.zeros, None, 1.0, 0, torch.float32, "none", [], ""
    )
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
