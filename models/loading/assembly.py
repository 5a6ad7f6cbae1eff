"""From a registry entry to a model that answers: fetch it, choose its engine, wrap it for its task."""

import hashlib
from pathlib import Path

import torch
from transformers import AutoConfig, AutoTokenizer, GenerationConfig, PretrainedConfig, PreTrainedModel

from models.engine.choice import EXACT, EngineSettings, choose_engine, trunk_of
from models.errors import CheckpointUnavailable
from models.loading import Progress
from models.loading.network import load_network
from models.outputs import LoadedCheckpoint
from models.registry import Checkpoint, Task
from models.tasks.base import AnyTaskModel, LazyNetwork, Loaded
from models.tasks.fill_mask import FillMask
from models.tasks.question_answering import QuestionAnswering
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration
from models.tasks.translation import Translation
from models.text.marks import read_marks_as_text

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
        return wrap(checkpoint, folder, revision, settings)
    _weights(checkpoint.folder)
    progress(1.0, f"Loading {checkpoint.title}")
    return wrap(checkpoint, checkpoint.folder, bundled_revision(checkpoint.folder), settings)


def wrap(checkpoint: Checkpoint, folder: Path, revision: str, settings: EngineSettings = EXACT) -> AnyTaskModel:
    """The task's model over the weights and the tokenizer in `folder`."""
    task, trunk = checkpoint.task, trunk_of(checkpoint)
    config = AutoConfig.from_pretrained(folder)
    generation_config = _generation_config(folder, config)

    def load() -> PreTrainedModel:
        network = load_network(task, folder, trunk)
        if task.writes:
            network.generation_config = generation_config
        return _on_device(network)

    network = LazyNetwork(load)
    engine = choose_engine(task, folder, trunk, settings, network, network.lock)
    identity = LoadedCheckpoint(checkpoint.name, revision, checkpoint.license, engine.precision, engine.name)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    read_marks_as_text(tokenizer)
    loaded = Loaded(checkpoint, identity, config, generation_config, tokenizer, engine, network)
    return _WRAPPERS[task](loaded)


def plain_network(checkpoint: Checkpoint) -> PreTrainedModel:
    """The network of a bundled checkpoint as transformers and PEFT load it, to compare with; on the CPU."""
    return load_network(checkpoint.task, checkpoint.folder, trunk_of(checkpoint))


def _on_device(network: PreTrainedModel) -> PreTrainedModel:
    if torch.cuda.is_available():
        network.to(torch.device("cuda"))  # type: ignore[arg-type]
    return network


def _generation_config(folder: Path, config: PretrainedConfig) -> GenerationConfig:
    """How a checkpoint wants its texts generated; older ones say it in their `config`."""
    if (folder / "generation_config.json").exists():
        return GenerationConfig.from_pretrained(folder)
    return GenerationConfig.from_model_config(config)


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
