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
from transformers import PreTrainedModel


def batch_of_one(ids: Sequence[int], network: PreTrainedModel) -> Tensor:
    """Ids `[1, token]` on the network's device."""
    return given_to(network, np.array(ids, dtype=np.int64).reshape(1, -1))


def given_to(network: PreTrainedModel, numbers: NDArray[Any]) -> Tensor:
    """`numbers` on the network's device."""
    tensor = torch.from_numpy(numbers)
    return tensor if network.device.type == "cpu" else tensor.to(network.device)


def taken(logits: Tensor) -> NDArray[np.float32]:
    """What a network said, in float32."""
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32 and not logits.requires_grad
    found: NDArray[np.float32] = (logits if plain else logits.detach().float().cpu()).numpy()
    return found
