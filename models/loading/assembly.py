"""From a registry entry to a model that answers: fetch it, choose its engine, wrap it for its task."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from models.engine import Engine
from models.engine.choice import BFLOAT16, EXACT, FLOAT16, FLOAT32, EngineSettings, is_rounded, uses_openvino
from models.errors import CheckpointUnavailable
from models.loading import Progress, import_looks, silent
from models.loading.description import describe, load_description
from models.loading.prepared import model_type_of, prepared_folder, trunk_of
from models.outputs import LoadedCheckpoint
from models.registry import Checkpoint, Task
from models.tasks.base import AnyTaskModel, LazyNetwork, Loaded
from models.tasks.fill_mask import FillMask
from models.tasks.question_answering import QuestionAnswering
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration
from models.tasks.translation import Translation

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_WRAPPERS: dict[Task, type[AnyTaskModel]] = {
    Task.FILL_MASK: FillMask,
    Task.SENTIMENT: TextClassification,
    Task.QUESTION_ANSWERING: QuestionAnswering,
    Task.TRANSLATION: Translation,
    Task.COMPLETION: TextGeneration,
}


def assemble(checkpoint: Checkpoint, progress: Progress, settings: EngineSettings) -> AnyTaskModel:
    """Load `checkpoint` and wrap it for its task; raises `CheckpointUnavailable`."""
    if checkpoint.hub_id:
        from models.loading.hub import fetch

        folder, revision = fetch(checkpoint, progress)
        progress(1.0, f"Loading {checkpoint.title}")
        return wrap(checkpoint, folder, revision, settings, progress)
    _weights(checkpoint.folder)
    progress(1.0, f"Loading {checkpoint.title}")
    return wrap(checkpoint, checkpoint.folder, bundled_revision(checkpoint.folder), settings, progress)


def wrap(
    checkpoint: Checkpoint,
    folder: Path,
    revision: str,
    settings: EngineSettings = EXACT,
    progress: Progress = silent,
) -> AnyTaskModel:
    """The task's model over the weights and the tokenizer in `folder`."""
    task, trunk = checkpoint.task, trunk_of(checkpoint)
    network = LazyNetwork(lambda: _network(task, folder, trunk))
    engine: Engine
    if uses_openvino(model_type_of(folder), settings):
        from models.engine.openvino import read_graphs

        rounded = is_rounded(task, settings)
        said = f"Preparing {checkpoint.title} for quick answers; this happens once and takes some seconds"
        prepared = prepared_folder(task, folder, trunk, half=rounded, on_making=lambda: progress(1.0, said))
        engine = read_graphs(prepared, (FLOAT16 if task.writes else BFLOAT16) if rounded else FLOAT32)
        description, tokenizer = load_description(prepared, folder)
    else:
        import_looks()
        from models.engine.pytorch import PyTorchEngine, rounds_quickly

        rounded = settings.precision != FLOAT32 and not task.writes and rounds_quickly()
        engine = PyTorchEngine(network(), network.lock, BFLOAT16 if rounded else FLOAT32)
        description, tokenizer = describe(folder)
    identity = LoadedCheckpoint(checkpoint.name, revision, checkpoint.license, engine.precision, engine.name)
    return _WRAPPERS[task](
        Loaded(checkpoint, identity, folder, description.model, description.generation, tokenizer, engine, network)
    )


def plain_network(checkpoint: Checkpoint) -> "PreTrainedModel":
    """The network of a bundled checkpoint as transformers and PEFT load it, to compare with; on the CPU."""
    import_looks()
    from models.loading.network import load_network

    return load_network(checkpoint.task, checkpoint.folder, trunk_of(checkpoint))


def _network(task: Task, folder: Path, trunk: Path | None) -> "PreTrainedModel":
    """The network for looks inside, on a GPU where there is one."""
    import_looks()
    import torch

    from models.loading.network import load_network

    network = load_network(task, folder, trunk)
    if torch.cuda.is_available():
        network.to(torch.device("cuda"))  # type: ignore[arg-type]
    return network


def bundled_revision(folder: Path) -> str:
    """The first 12 hexadecimal digits of the sha256 of the folder's weights; raises `CheckpointUnavailable`."""
    with _weights(folder).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _weights(folder: Path) -> Path:
    """The file with the folder's own weights; raises `CheckpointUnavailable`."""
    for name in ("adapter_model.safetensors", "model.safetensors"):
        if (folder / name).exists():
            return folder / name
    raise CheckpointUnavailable(f"The bundled model {folder.name} is missing from this installation.")
