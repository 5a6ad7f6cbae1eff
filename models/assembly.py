"""From a registry entry to a model that answers: fetch, load safely, merge an adapter, wrap for the task."""

import hashlib
import threading
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
from models.checkpoints import BUNDLED, Checkpoint
from models.errors import CheckpointUnavailable
from models.fill_mask import FillMask
from models.loading import Progress
from models.outputs import LoadedCheckpoint
from models.packed_linear import pack
from models.precision import Precision, chosen
from models.question_answering import QuestionAnswering
from models.tasks import Task
from models.text_classification import TextClassification
from models.text_generation import TextGeneration
from models.translation import Translation

_WRAPPERS: dict[Task, tuple[type[AnyTaskModel], type]] = {
    Task.FILL_MASK: (FillMask, AutoModelForMaskedLM),
    Task.SENTIMENT: (TextClassification, AutoModelForSequenceClassification),
    Task.QUESTION_ANSWERING: (QuestionAnswering, AutoModelForQuestionAnswering),
    Task.TRANSLATION: (Translation, AutoModelForSeq2SeqLM),
    Task.COMPLETION: (TextGeneration, AutoModelForCausalLM),
}

ADAPTER = "adapter_model.safetensors"
WEIGHTS = "model.safetensors"

# While transformers loads, it patches torch for the whole process: a second load at the same time would be left with
# weights on its "meta" device.
_loading = threading.Lock()


def assemble(checkpoint: Checkpoint, progress: Progress, precision: str) -> AnyTaskModel:
    """Load `checkpoint` and wrap it for its task, `precision` being a setting; raises `CheckpointUnavailable`."""
    if checkpoint.hub_id:
        from models.hub import fetch

        folder, revision = fetch(checkpoint, progress)
    else:
        folder = checkpoint.folder
        revision = bundled_revision(folder)
    progress(1.0, f"Loading {checkpoint.title}")
    return wrap(checkpoint, folder, revision, chosen(precision))


def wrap(checkpoint: Checkpoint, folder: Path, revision: str, precision: Precision = Precision.FLOAT32) -> AnyTaskModel:
    """The task's model over the weights and the tokenizer in `folder`."""
    wrapper, auto_model = _WRAPPERS[checkpoint.task]
    network = _network(auto_model, folder, BUNDLED / checkpoint.base if checkpoint.base else None)
    network.eval()  # type: ignore[no-untyped-call]
    network.requires_grad_(False)
    if torch.cuda.is_available():
        network.to(torch.device("cuda"))  # type: ignore[arg-type]
    pack(network, precision)
    identity = LoadedCheckpoint(checkpoint.name, revision, checkpoint.license, precision.value)
    return wrapper(Loaded(checkpoint, identity, network, AutoTokenizer.from_pretrained(folder)))


def plain_network(checkpoint: Checkpoint) -> PreTrainedModel:
    """The network of a bundled checkpoint as transformers and PEFT load it, to compare with; on the CPU."""
    auto_model = _WRAPPERS[checkpoint.task][1]
    network = _network(auto_model, checkpoint.folder, BUNDLED / checkpoint.base if checkpoint.base else None)
    network.eval()  # type: ignore[no-untyped-call]
    return network


def _network(auto_model: type, folder: Path, base: Path | None) -> PreTrainedModel:
    """The network of `folder` in float32; of an adapter folder, its trunk `base` with the adapter merged in."""
    options = {"use_safetensors": True, "dtype": torch.float32, "trust_remote_code": False}
    # Loading reports and notes on unused heads would be news to the host on every start, and to nobody else.
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    with _loading:
        if base is None:
            network: PreTrainedModel = auto_model.from_pretrained(folder, **options)  # type: ignore[attr-defined]
            return network
        from peft import PeftModel

        trunk = auto_model.from_pretrained(base, config=AutoConfig.from_pretrained(folder), **options)  # type: ignore[attr-defined]
        merged: PreTrainedModel = PeftModel.from_pretrained(trunk, folder).merge_and_unload()
        return merged


def bundled_revision(folder: Path) -> str:
    """The first 12 hexadecimal digits of the sha256 of the folder's weights; raises `CheckpointUnavailable`."""
    for name in (ADAPTER, WEIGHTS):
        if (folder / name).exists():
            with (folder / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    raise CheckpointUnavailable(f"The bundled model {folder.name} is missing from this installation.")
