"""The shape of every model here: `preprocess -> forward -> postprocess`, and attention on demand."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.cancellation import BoundedLock
from models.decoding.sampling import GenerationSettings
from models.engine import Engine, Ids, Logits
from models.errors import InputError
from models.outputs import Attentions, LoadedCheckpoint, TaskOutput, Token
from models.registry import Checkpoint
from models.tasks.calibration import Calibration
from models.text.characters import says_anything
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

Inputs = TypeVar("Inputs")
Encoded = TypeVar("Encoded")
Raw = TypeVar("Raw")
Output = TypeVar("Output", bound=TaskOutput)


@dataclass(frozen=True)
class ModelSettings:
    """The part of a checkpoint's configuration that a task reads.

    `window` is the greatest number of tokens that the network reads at once, special tokens included; `vocabulary` the
    number of scores that it has for a token, which may be more than its tokenizer has; `labels` a classifier's, in
    lower case.
    """

    window: int
    vocabulary: int
    labels: tuple[str, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)


@dataclass(frozen=True)
class Loaded:
    """The parts of a task's model: the checkpoint, its tokenizer, and the engine that computes its answers.

    `folder` holds the weights; `network` is the same network in float32, which looks inside use.
    """

    checkpoint: Checkpoint
    identity: LoadedCheckpoint
    folder: Path
    settings: ModelSettings
    generation: GenerationSettings
    tokenizer: Tokenizer
    engine: Engine
    network: "LazyNetwork"


class LazyNetwork:
    """A network in float32 as transformers loads it, on the first look inside; `lock` is held while it is used."""

    def __init__(self, load: Callable[[], "PreTrainedModel"]) -> None:
        self.lock = BoundedLock()
        self._load = load
        self._loaded: PreTrainedModel | None = None

    def __call__(self) -> "PreTrainedModel":
        """The network, which is loaded once."""
        with self.lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @property
    def bytes(self) -> int:
        """The size of its weights in bytes, 0 while it is not loaded."""
        return 0 if self._loaded is None else sum(each.nbytes for each in self._loaded.parameters())


class TaskModel(ABC, Generic[Inputs, Encoded, Raw, Output]):
    """A checkpoint wrapped for its task; call it with the fields of its `inputs_type`.

    Nothing of torch leaves through `__call__` or `attend`: outputs hold numbers, text and numpy arrays.
    """

    inputs_type: ClassVar[type]

    def __init__(self, loaded: Loaded) -> None:
        self.checkpoint = loaded.checkpoint
        self.identity = loaded.identity
        self.tokenizer = loaded.tokenizer
        self.engine = loaded.engine
        self.folder = loaded.folder
        self.settings = loaded.settings
        self.generation = loaded.generation
        self._lazy = loaded.network
        self.lock = loaded.network.lock

    @property
    def network(self) -> "PreTrainedModel":
        """The network itself, in float32 and with eager attention, to look inside; hold `lock` to put hooks into it.

        Ask for it before importing what needs torch: on its way torch is imported by one thread at a time.
        """
        return self._lazy()

    def tensor(self, numbers: NDArray[Any]) -> "Tensor":
        """`numbers` on the device of `network`."""
        device = self.network.device
        import torch

        return torch.from_numpy(np.ascontiguousarray(numbers)).to(device)

    @property
    def exact(self) -> Self:
        """This model with `network` itself as its engine."""
        other, network = copy.copy(self), self.network
        from models.engine.pytorch import PyTorchEngine

        other.engine = PyTorchEngine(network, self.lock)
        other.identity = self.looked_into
        return other

    def __call__(self, **fields: Any) -> Output:
        """The answer to one input; raises `InputError` when the visitor can mend it."""
        return self.answer(self.inputs_type(**fields))

    def answer(self, inputs: Inputs) -> Output:
        """`preprocess -> forward -> postprocess` for inputs that are already typed."""
        encoded = self.preprocess(inputs)
        return self.postprocess(inputs, encoded, self.forward(encoded))

    @abstractmethod
    def preprocess(self, inputs: Inputs) -> Encoded:
        """Check the inputs and turn them into ids; raises `InputError`."""

    @abstractmethod
    def forward(self, encoded: Encoded) -> Raw:
        """Run the network."""

    @abstractmethod
    def postprocess(self, inputs: Inputs, encoded: Encoded, raw: Raw) -> Output:
        """Turn the network's numbers into the answer."""

    @abstractmethod
    def attend(self, inputs: Inputs, written: tuple[int, ...] = ()) -> Attentions:
        """The attention over the inputs and, for models that write, the ids they have `written`; one forward pass."""

    def logits(self, ids: Ids, source: Ids | None = None) -> Logits:
        """A decoder's logits `[token, vocabulary]` after each of `ids` `[1, token]`; `source` is what it translates."""
        return self.engine.start(source).read(ids, ids.shape[1])

    def attention_over(self, tokens: tuple[Token, ...], **network_inputs: NDArray[Any]) -> Attentions:
        """An encoder's self-attention over one text, whose inputs are `[1, token]`."""
        network, given = self.network, {name: self.tensor(each) for name, each in network_inputs.items()}
        from models.tasks.attention import capture_encoder

        with self.lock:
            return capture_encoder(network, given, tokens)

    @property
    def looked_into(self) -> LoadedCheckpoint:
        """The identity of the exact network, which looks inside use."""
        return replace(self.identity, precision="float32", engine="torch")

    @property
    def window(self) -> int:
        """The greatest number of tokens that the network reads at once, special tokens included."""
        return self.settings.window

    @property
    def held_bytes(self) -> int:
        """The size of its weights in bytes; those for looks inside count from the first look."""
        return self._lazy.bytes + (0 if self.engine.shares_network else self.engine.bytes)

    def require_window(self, length: int, field: str, what: str = "That is") -> None:
        """Refuse a text of more than `window` tokens with a sentence that says both numbers."""
        if length > self.window:
            raise InputError(
                f"{what} {length:,} tokens, and this model reads at most {self.window:,} at once. Please shorten it.",
                field,
            )


def batch_of_one(ids: Sequence[int]) -> Ids:
    """`ids` as a batch `[1, token]`."""
    return np.array(ids, np.int64).reshape(1, -1)


def require_tokens(tokens: Sequence[Token], field: str, name: str) -> None:
    """Raise `InputError` for a text of which the tokenizer leaves no token, such as accents without letters."""
    marks = [token.is_mark for token in tokens]
    if all(marks):
        raise InputError(f"{name} is empty for this model. Please type something else.", field)


AnyTaskModel = TaskModel[Any, Any, Any, Any]


def require_text(text: str, field: str, name: str) -> str:
    """`text` if it says anything; raises `InputError` for empty text and for characters that cannot be written down."""
    if not isinstance(text, str):
        raise InputError(f"{name} must be text.", field)
    if not says_anything(text):
        raise InputError(f"{name} is empty. Please type something first.", field)
    return text
