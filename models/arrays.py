"""Numbers on their way to a network and back, without an operation of torch where none is needed.

Each operation gives the interpreter's lock up, and among many visitors it may take longer to have it back than all else
that is done here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def batch_of_one(ids: Sequence[int], device: torch.device) -> Tensor:
    """Ids `[1, token]` on a network's device."""
    return given_to(device, np.array(ids, dtype=np.int64).reshape(1, -1))


def given_to(device: torch.device, numbers: NDArray[Any]) -> Tensor:
    """`numbers` on a network's device."""
    tensor = torch.from_numpy(numbers)
    return tensor if device.type == "cpu" else tensor.to(device)


def taken(logits: Tensor) -> NDArray[np.float32]:
    """What a network said, in float32."""
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32 and not logits.requires_grad
    found: NDArray[np.float32] = (logits if plain else logits.detach().float().cpu()).numpy()
    return found
