"""The shape of every model here: `preprocess -> forward -> postprocess`, and attention on demand."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.cancellation import BoundedLock
from models.decoding.sampling import GenerationSettings
from models.engine import FLOAT32, TORCH, Engine, Ids, Logits
from models.errors import InputError
from models.outputs.attention import Attention, Attentions
from models.outputs.base import LoadedCheckpoint, TaskOutput, Token
from models.registry import Checkpoint, Task
from models.text.characters import says_anything
from models.text.tokenizer import Encoding, Tokenizer, TokenizerSettings
from models.wording import Sentence

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

Inputs = TypeVar("Inputs")
Encoded = TypeVar("Encoded")
Raw = TypeVar("Raw")
Output = TypeVar("Output", bound=TaskOutput)

MAX_BEAMS = 8


@dataclass(frozen=True)
class Calibration:
    """What turns a network's logits into probabilities that mean what they say: logits are divided by `temperature`.

    Whether a text answers at all is a question of its own: its log-odds are multiplied by `answerable_scale` and
    `answerable_bias` is added (Guo et al., 2017; Platt, 1999). Published checkpoints have none.
    """

    temperature: float = 1.0
    answerable_scale: float = 1.0
    answerable_bias: float = 0.0

    KEY: ClassVar[str] = "calibration"
    """Where a checkpoint's `config.json` keeps it."""


@dataclass(frozen=True)
class ModelSettings:
    """The part of a checkpoint's configuration that a task reads.

    `window` is the greatest number of tokens that the network reads at once, special tokens included; `vocabulary` the
    number of scores for a token, maybe more than its tokenizer knows; `labels` a classifier's, in lower case.
    """

    window: int
    vocabulary: int
    labels: tuple[str, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)


_TOO_LONG = Sentence(
    "That is {length:,} tokens, and this model reads at most {window:,} at once here. Please shorten it."
)


@dataclass(eq=False)
class TaskModel(ABC, Generic[Inputs, Encoded, Raw, Output]):
    """A checkpoint wrapped for its task; call it with the fields of its `inputs_type`.

    `folder` holds the weights. `engine` computes the answers; `load_network` loads the same network in float32 for
    looks inside, and `lock` is held while that is used. Nothing of torch leaves through `__call__` or `attend`: outputs
    hold numbers, text and numpy arrays.
    """

    inputs_type: ClassVar[type]
    asks: ClassVar[Mapping[str, Task]] = {}
    """Other models that it asks, by the attribute under which the loader sets each, and the task of their default."""

    checkpoint: Checkpoint
    identity: LoadedCheckpoint
    folder: Path
    settings: ModelSettings
    generation: GenerationSettings
    tokenizer: Tokenizer
    engine: Engine
    load_network: "Callable[[], PreTrainedModel]"
    lock: BoundedLock
    _network: "PreTrainedModel | None" = None

    @property
    def network(self) -> "PreTrainedModel":
        """The network itself, in float32 and with eager attention, to look inside; hold `lock` to put hooks into it.

        It is loaded once. Ask for it before importing what needs torch, which it imports in one thread at a time.
        """
        with self.lock:
            if self._network is None:
                import torch

                # The first caller may be in inference mode; weights loaded there would refuse gradients for good.
                with torch.inference_mode(False):
                    self._network = self.load_network()
            return self._network

    def tensor(self, numbers: NDArray[Any]) -> "Tensor":
        """`numbers` on the device of `network`."""
        network = self.network
        from models.engine.pytorch import on_device_of

        return on_device_of(network, numbers)

    @property
    def exact(self) -> Self:
        """This model with `network` itself as its engine."""
        network, other = self.network, copy.copy(self)
        from models.engine.pytorch import PyTorchEngine

        other.engine, other.identity = PyTorchEngine(network, self.lock), self.looked_into
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

    def look(self, **inputs: NDArray[Any]) -> Any:
        """The output of the network's trunk over `inputs`, each `[1, token]`, with the attention of every layer."""
        network, given = self.network, {name: self.tensor(each) for name, each in inputs.items()}
        with self.lock:
            return network.base_model(**given, output_attentions=True)

    def attend_encoder(self, tokens: tuple[Token, ...], inputs: Mapping[str, NDArray[Any]]) -> Attentions:
        """An encoder's self-attention over one text, whose inputs are `[1, token]`."""
        return {"encoder": attention_of("encoder", self.look(**inputs).attentions, tokens, tokens)}

    @property
    def looked_into(self) -> LoadedCheckpoint:
        """The identity of the exact network, which looks inside use."""
        return replace(self.identity, precision=FLOAT32, engine=TORCH)

    @property
    def held_bytes(self) -> int:
        """The size of its weights in bytes; those for looks inside count from the first look."""
        if self._network is None or self.engine.name == TORCH:
            return self.engine.bytes
        return self.engine.bytes + sum(each.nbytes for each in self._network.parameters())

    def require_window(self, length: int, field: str, sentence: str = _TOO_LONG, **values: Any) -> None:
        """Refuse a text of more than `window` tokens with a `sentence` that says both numbers, and `values`."""
        if length > self.settings.window:
            raise InputError(Sentence(sentence, length=length, window=self.settings.window, **values), field)

    def require_known(self, kept: Sequence[int]) -> None:
        """Refuse ids to go on from that the vocabulary does not have."""
        if not all(0 <= token_id < len(self.tokenizer) for token_id in kept):
            raise InputError(Sentence("This model does not know one of the tokens to go on from."), "kept")


AnyTaskModel = TaskModel[Any, Any, Any, Any]


def attention_of(
    kind: str, layers: "Sequence[Tensor]", queries: tuple[Token, ...], keys: tuple[Token, ...]
) -> Attention:
    """Attention as transformers returns it, a `[1, head, query, key]` per layer; in a decoder no token looks ahead."""
    weights = np.stack([layer[0].float().cpu().numpy() for layer in layers])
    masked = causal(len(queries)) if kind == "decoder" else np.zeros(weights.shape[2:], dtype=bool)
    return Attention(kind, weights, queries, keys, masked)


def causal(length: int) -> NDArray[np.bool_]:
    """The mask `[query, key]` that hides later tokens."""
    return np.triu(np.ones((length, length), dtype=bool), k=1)


def batch_of_one(ids: Sequence[int]) -> Ids:
    """`ids` as a batch `[1, token]`."""
    return np.array(ids, np.int64).reshape(1, -1)


def padded(encodings: Sequence[Encoding], settings: TokenizerSettings) -> dict[str, NDArray[np.int64]]:
    """The network's inputs `[row, token]` of several texts or pairs, each as long as the longest."""
    length = max(len(each.ids) for each in encodings)

    def filled(rows: list[list[int]], filling: int) -> NDArray[np.int64]:
        fillings = [[filling] * (length - len(row)) for row in rows]
        pairs = zip(rows, fillings, strict=True)
        return np.array([more + row if settings.pads_left else row + more for row, more in pairs], np.int64)

    inputs = {
        "input_ids": filled([each.ids for each in encodings], settings.pad_token_id or 0),
        "attention_mask": filled([[1] * len(each.ids) for each in encodings], 0),
    }
    if settings.has_types:
        inputs["token_type_ids"] = filled([each.types for each in encodings], settings.pad_type_id)
    return inputs


def require_tokens(tokens: Sequence[Token], field: str, name: str) -> None:
    """Raise `InputError` for a text of which the tokenizer leaves no token, such as accents without letters."""
    if all(token.is_mark for token in tokens):
        raise InputError(Sentence("{name} is empty for this model. Please type something else.", name=name), field)


def require_text(text: str, field: str, name: str) -> str:
    """`text` if it says anything; raises `InputError` where it is empty or no text."""
    if not isinstance(text, str):
        raise InputError(Sentence("{name} must be text.", name=name), field)
    if not says_anything(text):
        raise InputError(Sentence("{name} is empty. Please type something first.", name=name), field)
    return text
