"""Which engine computes a checkpoint's answers, and in what numbers."""

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from models.engine import Engine
from models.registry import BUNDLED, Checkpoint, Task

if TYPE_CHECKING:
    from transformers import PreTrainedModel

AUTO, OPENVINO, TORCH = "auto", "openvino", "torch"
ENGINES = (AUTO, OPENVINO, TORCH)
"""The settings of the engine."""

FLOAT32, BFLOAT16, FLOAT16 = "float32", "bfloat16", "float16"
PRECISIONS = (AUTO, FLOAT32, FLOAT16, BFLOAT16)
"""The settings of the precision. Both 16-bit ones mean float16 weights for decoders and bfloat16 for encoders."""

CONVERTIBLE = {
    Task.FILL_MASK: frozenset({"bert", "distilbert", "roberta", "electra"}),
    Task.SENTIMENT: frozenset({"bert", "distilbert", "roberta", "electra"}),
    Task.QUESTION_ANSWERING: frozenset({"bert", "distilbert", "roberta", "electra"}),
    Task.TRANSLATION: frozenset({"marian"}),
    Task.COMPLETION: frozenset({"gpt2"}),
}
"""The architectures whose graphs were compared with transformers."""


@dataclass(frozen=True)
class EngineSettings:
    """The host's settings: an engine of `ENGINES` and a precision of `PRECISIONS`."""

    engine: str = AUTO
    precision: str = FLOAT32


EXACT = EngineSettings()
"""The quickest engine without rounding."""

DEFAULT_SETTINGS = EngineSettings(AUTO, AUTO)
"""What the page uses unless its host sets something else."""


def has_openvino() -> bool:
    """Return whether OpenVINO is installed."""
    return find_spec("openvino") is not None


def uses_openvino(task: Task, weights: Path, settings: EngineSettings) -> bool:
    """Return whether OpenVINO computes the answers of the checkpoint in the folder `weights`."""
    if settings.engine == TORCH or not has_openvino():
        return False
    return json.loads((weights / "config.json").read_text(encoding="utf-8"))["model_type"] in CONVERTIBLE[task]


def choose_engine(
    task: Task,
    weights: Path,
    trunk: Path | None,
    settings: EngineSettings,
    network: "Callable[[], PreTrainedModel]",
    lock: AbstractContextManager[object],
) -> Engine:
    """The engine for a checkpoint; `network` and the `lock` that guards it are for PyTorch, which answers with it.

    Raises `CheckpointUnavailable` where the checkpoint cannot be prepared.
    """
    if not uses_openvino(task, weights, settings):
        from models.engine.pytorch import PyTorchEngine

        return PyTorchEngine(network(), lock)
    from models.engine.openvino import OpenVINODecoder, OpenVINOEncoder
    from models.engine.saved import ENCODER, SOURCE, STEP, saved_graphs

    rounded = is_rounded(task, settings)
    graphs = saved_graphs(task, weights, trunk, half=rounded)
    if task.writes:
        source = graphs / f"{SOURCE}.xml"
        return OpenVINODecoder(
            graphs / f"{STEP}.xml", source if source.exists() else None, FLOAT16 if rounded else FLOAT32
        )
    return OpenVINOEncoder(graphs / f"{ENCODER}.xml", BFLOAT16 if rounded else FLOAT32)


def is_rounded(task: Task, settings: EngineSettings) -> bool:
    """Return whether a model's weights are kept in 16 bits: an encoder's only where the processor has bfloat16."""
    from models.engine.openvino import rounds_quickly

    return settings.precision != FLOAT32 and (task.writes or rounds_quickly())


def prepare(checkpoint: Checkpoint) -> None:
    """Make the graphs of a bundled checkpoint as a page with this environment's settings reads them."""
    from models.engine.saved import saved_graphs

    engine, precision = (os.environ.get(f"CLEARHEAD_{name}", AUTO) for name in ("ENGINE", "PRECISION"))
    settings = EngineSettings(engine, precision)
    if uses_openvino(checkpoint.task, checkpoint.folder, settings):
        half = is_rounded(checkpoint.task, settings)
        saved_graphs(checkpoint.task, checkpoint.folder, trunk_of(checkpoint), half=half)


def trunk_of(checkpoint: Checkpoint) -> Path | None:
    """The folder of the network that an adapter was trained on."""
    return BUNDLED / checkpoint.base if checkpoint.base else None
