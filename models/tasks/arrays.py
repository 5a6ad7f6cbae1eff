"""Ids and masks as tensors on a network's device, made by numpy: a torch call releases the GIL and may wait for it."""

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
