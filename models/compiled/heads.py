"""What small heads say behind compiled blocks: a product or two, of which TorchScript costs more than they do.

In float32: so few numbers are read that rounding them would gain nothing. Each row is added up by itself, so that
it says the same to the last bit whoever is read along; a library's products take several rows in another order.
"""

import numpy as np
import torch
from torch import Tensor, nn

from models.activations import activated


def span(x: Tensor, output: nn.Linear) -> tuple[Tensor, Tensor]:
    """The starts' and the ends' logits `[row, token]` of `x` `[row, token, width]`, by a layer of two outputs."""
    starts, ends = _by_rows(x.flatten(0, 1), output).view(*x.shape[:2], 2).unbind(-1)
    return starts, ends


def label(x: Tensor, dense: nn.Linear, then: str, output: nn.Linear) -> Tensor:
    """The logits `[text, label]` of texts' first tokens `[text, width]`, by two layers with an activation between."""
    return _by_rows(activated(_by_rows(x, dense), then), output)


def _by_rows(x: Tensor, layer: nn.Linear) -> Tensor:
    """`[row, in]` to `[row, out]`."""
    weight, bias = (each.detach().numpy() for each in (layer.weight, layer.bias))
    # numpy gives the interpreter's lock up for less time than an operation of torch.
    return torch.from_numpy(np.einsum("ri,oi->ro", x.numpy(), weight) + bias)
