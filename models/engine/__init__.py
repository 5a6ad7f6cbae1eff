"""Engines compute the forward passes of answers: OpenVINO, or PyTorch where OpenVINO cannot.

Both take and return NumPy arrays, and are safe to call from many threads. Tasks call an `Engine` without knowing which;
`OpenVINOEngine` documents its methods. Looks inside a model (attention, attribution, ablation, the tab Inside) do not
use an engine: they run transformers itself, in float32.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.architectures import architecture
from models.registry import Task

if TYPE_CHECKING:
    from models.engine.openvino import OpenVINOEngine
    from models.engine.pytorch import PyTorchEngine

Engine: TypeAlias = "OpenVINOEngine | PyTorchEngine"
Ids = NDArray[np.int64]
Logits = NDArray[np.float32]


AUTO, OPENVINO, TORCH = "auto", "openvino", "torch"
ENGINES = (AUTO, OPENVINO, TORCH)
FLOAT32, BFLOAT16, FLOAT16 = "float32", "bfloat16", "float16"
PRECISIONS = (AUTO, FLOAT32, FLOAT16, BFLOAT16)
"""The precisions that can be set. Both 16-bit ones mean float16 weights for decoders and bfloat16 for encoders."""


@dataclass(frozen=True)
class EngineSettings:
    """The host's settings: an engine of `ENGINES` and a precision of `PRECISIONS`."""

    engine: str = AUTO
    precision: str = FLOAT32


EXACT = EngineSettings()
"""The quickest engine without rounding."""

DEFAULT_SETTINGS = EngineSettings(AUTO, AUTO)
"""The settings of the page unless its host sets others."""


def has_openvino() -> bool:
    """Return whether OpenVINO is installed."""
    return find_spec("openvino") is not None


def uses_openvino(model_type: str, settings: EngineSettings) -> bool:
    """Return whether OpenVINO computes the answers of a checkpoint of this architecture."""
    return settings.engine != TORCH and has_openvino() and architecture(model_type).converts


def is_rounded(task: Task, settings: EngineSettings) -> bool:
    """Return whether a model's weights are kept in 16 bits: an encoder's only where the processor has bfloat16."""
    from models.engine.openvino import rounds_quickly

    return settings.precision != FLOAT32 and (task.writes or rounds_quickly())
