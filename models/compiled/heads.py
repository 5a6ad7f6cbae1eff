"""What small heads say behind compiled blocks: a product or two, of which TorchScript costs more than they do.

In float32: so few numbers are read that rounding them would gain nothing.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from models.activations import activated


def span(x: Tensor, output: nn.Linear) -> tuple[Tensor, Tensor]:
    """The starts' and the ends' logits `[row, token]` of `x` `[row, token, width]`, by a layer of two outputs."""
    # numpy's product gives the interpreter's lock up for less time than an operation of torch.
    logits = x.flatten(0, 1).numpy() @ output.weight.detach().numpy().T + output.bias.detach().numpy()
    starts, ends = torch.from_numpy(logits).view(*x.shape[:2], 2).unbind(-1)
    return starts, ends


def label(x: Tensor, dense: nn.Linear, then: str, output: nn.Linear) -> Tensor:
    """The logits `[text, label]` of texts' first tokens `[text, width]`, by two layers with an activation between."""
    inner: Tensor = activated(linear(x, dense.weight, dense.bias), then)
    return linear(inner, output.weight, output.bias)
