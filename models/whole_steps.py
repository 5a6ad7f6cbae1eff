"""Weights that are whole multiples of a power of two per output: in 8 bits nothing is lost of them.

A model that writes reads all of its weights for every token, and a single row of numbers is multiplied about as fast as
the weights come. In 8 bits they come twice as fast as in 16. Rounding any weights so would move probabilities too far;
this project's models that write are published as such multiples (`training/whole_steps.py`), so that there is nothing
left to round: not in 8 bits, nor in bfloat16.
"""

import torch
from torch import Tensor

from models.products import WHOLE, Numbers

LEVELS = 127
"""The largest multiple of its step that a weight may be, either way."""

MOST_ROWS = 4
"""torch multiplies so many rows at once by weights in 8 bits; more are quicker in bfloat16."""

_BLOCK = 32
"""What both sides of a matrix must be a multiple of, so that torch's kernel leaves no rest."""


def steps_of(weight: Tensor) -> Tensor:
    """The step of each output of `weight` `[out, in]`, `[out]`: the least whose `LEVELS`-fold reaches every weight."""
    largest = weight.abs().amax(dim=1).clamp_min(torch.finfo(torch.float32).tiny)
    return torch.exp2((largest / LEVELS).log2().ceil())


def multiples_of(weight: Tensor, steps: Tensor) -> Tensor:
    """`weight` `[out, in]` in whole numbers of its outputs' `steps` `[out]`, rounded, in 8 bits."""
    return (weight / steps[:, None]).round_().clamp_(-LEVELS, LEVELS).to(torch.int8)


def whole_steps(weight: Tensor, bias: Tensor) -> Numbers | None:
    """`weight` `[out, in]` in 8 bits, with its `bias` `[out]`, if it is made of whole steps.

    For up to `MOST_ROWS` rows; they are rounded to bfloat16, and so is what each is multiplied to.
    """
    weight = weight.detach()
    if weight.shape[0] % _BLOCK or weight.shape[1] % _BLOCK:
        return None
    steps = steps_of(weight)
    multiples = multiples_of(weight, steps)
    if not torch.equal(multiples * steps[:, None], weight):
        return None
    return Numbers(WHOLE, [multiples.contiguous()], [steps.bfloat16()], [bias.float()])
