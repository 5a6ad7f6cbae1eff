"""From a registry entry to a model that answers: fetch, load safely, merge an adapter, wrap for the task."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
)
from transformers.utils import logging as transformers_logging

from models.base import AnyTaskModel, Loaded
from models.bundled import ADAPTER, WEIGHTS, read_bundled
from models.checkpoints import BUNDLED, Checkpoint
from models.errors import CheckpointUnavailable
from models.fill_mask import FillMask
from models.lightly import lightly
from models.loading import Progress
from models.marks import read_marks_as_text
from models.outputs import LoadedCheckpoint
from models.packed_linear import pack
from models.precision import Precision, chosen
from models.question_answering import QuestionAnswering
from models.tasks import Task
from models.text_classification import TextClassification
from models.text_generation import TextGeneration
from models.translation import Translation
from models.waiting import LONGEST_LOAD_S, BoundedLock

_WRAPPERS: dict[Task, tuple[type[AnyTaskModel], type]] = {
    Task.FILL_MASK: (FillMask, AutoModelForMaskedLM),
    Task.SENTIMENT: (TextClassification, AutoModelForSequenceClassification),
    Task.QUESTION_ANSWERING: (QuestionAnswering, AutoModelForQuestionAnswering),
    Task.TRANSLATION: (Translation, AutoModelForSeq2SeqLM),
    Task.COMPLETION: (TextGeneration, AutoModelForCausalLM),
}

# While transformers loads, it patches torch for the whole process: a second load at the same time would be left with
# weights on its "meta" device.
_loading = BoundedLock(LONGEST_LOAD_S)


def assemble(checkpoint: Checkpoint, progress: Progress, precision: str) -> AnyTaskModel:
    """Load `checkpoint` and wrap it for its task, `precision` being a setting; raises `CheckpointUnavailable`."""
    numbers = chosen(precision, writes=checkpoint.task.writes)
    if checkpoint.hub_id:
        from models.hub import fetch

        folder, revision = fetch(checkpoint, progress)
        progress(1.0, f"Loading {checkpoint.title}")
        return wrap(checkpoint, folder, revision, numbers)
    _weights(checkpoint.folder)
    # The weights are read and summed up at the same time: hashing lets other threads run.
    with ThreadPoolExecutor(1) as beside:
        revision_later = beside.submit(bundled_revision, checkpoint.folder)
        progress(1.0, f"Loading {checkpoint.title}")
        auto_model = _WRAPPERS[checkpoint.task][1]
        with _loading, lightly():
            network = read_bundled(auto_model, checkpoint.folder, _trunk(checkpoint))
        return _wrapped(checkpoint, checkpoint.folder, revision_later.result(), numbers, network)


def wrap(checkpoint: Checkpoint, folder: Path, revision: str, precision: Precision = Precision.FLOAT32) -> AnyTaskModel:
    """The task's model over the weights and the tokenizer in `folder`, as transformers loads them."""
    network = _network(_WRAPPERS[checkpoint.task][1], folder, _trunk(checkpoint))
    return _wrapped(checkpoint, folder, revision, precision, network)


def _wrapped(
    checkpoint: Checkpoint, folder: Path, revision: str, precision: Precision, network: PreTrainedModel
) -> AnyTaskModel:
    """The task's model over `network`."""
    network.eval()
    network.requires_grad_(False)
    if torch.cuda.is_available():
        network.to(torch.device("cuda"))  # type: ignore[arg-type]
    pack(network, precision)
    identity = LoadedCheckpoint(checkpoint.name, revision, checkpoint.license, precision.value)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    read_marks_as_text(tokenizer)
    return _WRAPPERS[checkpoint.task][0](Loaded(checkpoint, folder, identity, network, tokenizer))


def plain_network(checkpoint: Checkpoint) -> PreTrainedModel:
    """The network of a bundled checkpoint as transformers and PEFT load it, to compare with; on the CPU."""
    network = _network(_WRAPPERS[checkpoint.task][1], checkpoint.folder, _trunk(checkpoint))
    network.eval()
    return network


def _trunk(checkpoint: Checkpoint) -> Path | None:
    """The folder of the network that an adapter was trained on."""
    return BUNDLED / checkpoint.base if checkpoint.base else None


def _network(auto_model: type, folder: Path, base: Path | None) -> PreTrainedModel:
    """The network of `folder` in float32; of an adapter folder, its trunk `base` with the adapter merged in."""
    options = {"use_safetensors": True, "dtype": torch.float32, "trust_remote_code": False}
    # Loading reports and notes on unused heads would be news to the host on every start, and to nobody else.
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    with _loading, lightly():
        if base is None:
            network: PreTrainedModel = auto_model.from_pretrained(folder, **options)  # type: ignore[attr-defined]
            return network
        from peft import PeftModel

        trunk = auto_model.from_pretrained(base, config=AutoConfig.from_pretrained(folder), **options)  # type: ignore[attr-defined]
        merged: PreTrainedModel = PeftModel.from_pretrained(trunk, folder).merge_and_unload()
        return merged


def bundled_revision(folder: Path) -> str:
    """The first 12 hexadecimal digits of the sha256 of the folder's weights; raises `CheckpointUnavailable`."""
    with _weights(folder).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _weights(folder: Path) -> Path:
    """The file with the folder's own weights; raises `CheckpointUnavailable`."""
    for name in (ADAPTER, WEIGHTS):
        if (folder / name).exists():
            return folder / name
    raise CheckpointUnavailable(f"The bundled model {folder.name} is missing from this installation.")
