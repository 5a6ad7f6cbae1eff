"""The base class of every model: `preprocess -> forward -> postprocess`, attention on demand, and checks of inputs."""

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

MAX_BEAMS, MAX_SEED = 8, 2**32 - 1


@dataclass(frozen=True)
class Calibration:
    """The calibration of a network: its logits are divided by `temperature` (Guo et al., 2017).

    The log-odds that a text answers a question are multiplied by `answerable_scale`, and `answerable_bias` is added to
    them (Platt, 1999). Published checkpoints have none.
    """

    temperature: float = 1.0
    answerable_scale: float = 1.0
    answerable_bias: float = 0.0

    KEY: ClassVar[str] = "calibration"
    """The key of the calibration in a checkpoint's `config.json`."""


@dataclass(frozen=True)
class ModelSettings:
    """The part of a checkpoint's configuration that a task reads.

    `window` is the greatest number of tokens that the network reads at once, special tokens included; `vocabulary` the
    number of scores per token, which may exceed its tokenizer's; `labels` a classifier's, in lower case.
    """

    window: int
    vocabulary: int
    labels: tuple[str, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)


_TOO_LONG = Sentence(
    "That is {length:,} tokens, and this model reads at most {window:,} at once here. Please shorten it."
)
THE_TEXT = Sentence("The text")


@dataclass(eq=False)
class TaskModel(ABC, Generic[Inputs, Encoded, Raw, Output]):
    """A checkpoint wrapped for its task; call it with the fields of its `inputs_type`.

    `folder` holds the weights. `engine` computes the answers; `load_network` loads the same network in float32 to look
    inside it, and `lock` is held while that is used. `__call__` and `attend` return no torch objects: outputs hold
    numbers, text and numpy arrays.
    """

    inputs_type: ClassVar[type]
    asks: ClassVar[Mapping[str, Task]] = {}
    """The other models that this one uses: each attribute, which the loader sets, and the task of its default model."""

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

        It is loaded once. Get it before importing modules that need torch: loading imports torch in one thread at a
        time.
        """
        with self.lock:
            if self._network is None:
                import torch

                # The first caller may be in inference mode; weights loaded there would refuse gradients for good.
                with torch.inference_mode(False):
                    self._network = self.load_network()
            return self._network

    def tensor(self, numbers: NDArray[Any]) -> "Tensor":
        """Return `numbers` as a tensor on the device of `network`."""
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
        """Run `preprocess -> forward -> postprocess` on inputs that are already typed."""
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

    def look(self, inputs: Mapping[str, NDArray[Any]], at: str = "attentions") -> Any:
        """The output of the network's trunk over `inputs` `[row, token]`, with the tensors `at` of every layer.

        These are `attentions` or `hidden_states`, as transformers calls them.
        """
        network, given = self.network, {name: self.tensor(each) for name, each in inputs.items()}
        with self.lock:
            return network.base_model(**given, **{f"output_{at}": True})

    def attend_encoder(self, tokens: tuple[Token, ...], inputs: Mapping[str, NDArray[Any]]) -> Attentions:
        """An encoder's self-attention over one text, whose inputs are `[1, token]`."""
        return {"encoder": attention_of("encoder", self.look(inputs).attentions, tokens, tokens)}

    def attend_decoder(self, tokens: tuple[Token, ...]) -> Attentions:
        """A decoder's masked self-attention over one text."""
        output = self.look({"input_ids": batch_of_one([token.id for token in tokens])})
        return {"decoder": attention_of("decoder", output.attentions, tokens, tokens)}

    @property
    def looked_into(self) -> LoadedCheckpoint:
        """The identity of `network`, in float32, with which the inside of the model is shown."""
        return replace(self.identity, precision=FLOAT32, engine=TORCH)

    @property
    def held_bytes(self) -> int:
        """The size of the weights in memory, in bytes, with those of `network` once it is loaded."""
        if self._network is None or self.engine.name == TORCH:
            return self.engine.bytes
        return self.engine.bytes + sum(each.nbytes for each in self._network.parameters())

    def read_text(self, text: str) -> tuple[Encoding, tuple[Token, ...]]:
        """Encode the field `text`; raises `InputError` if it is empty or the tokenizer leaves no token of it."""
        encoded, tokens = self.tokenizer.read(require_text(text))
        require_tokens(tokens)
        return encoded, tokens

    def require_window(self, length: int, field: str, sentence: str = _TOO_LONG, **values: Any) -> None:
        """Raise `InputError` if `length` exceeds `window`, in a `sentence` with both numbers and `values`."""
        window = self.settings.window
        require(length <= window, field, sentence, length=length, window=window, **values)

    def require_known(self, kept: Sequence[int]) -> None:
        """Raise `InputError` if the vocabulary lacks one of the ids `kept` to continue from."""
        known = all(0 <= token_id < len(self.tokenizer) for token_id in kept)
        require(known, "kept", Sentence("This model does not know one of the tokens to go on from."))


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


def padded(encodings: Sequence[Encoding], settings: TokenizerSettings) -> dict[str, Ids]:
    """The network's inputs `[row, token]` of several texts or pairs, each padded to the longest."""
    inputs = padded_ids([each.ids for each in encodings], settings)
    if settings.has_types:
        inputs["token_type_ids"] = _filled([each.types for each in encodings], settings.pad_type_id, settings)
    return inputs


def padded_ids(rows: Sequence[Sequence[int]], settings: TokenizerSettings) -> dict[str, Ids]:
    """The network's inputs `[row, token]` of several texts, without token types, which then default to 0."""
    masks = [[1] * len(row) for row in rows]
    return {
        "input_ids": _filled(rows, settings.pad_token_id or 0, settings),
        "attention_mask": _filled(masks, 0, settings),
    }


def _filled(rows: Sequence[Sequence[int]], filling: int, settings: TokenizerSettings) -> Ids:
    fillings = [[filling] * (max(map(len, rows)) - len(row)) for row in rows]
    pairs = zip(rows, fillings, strict=True)
    return np.array([[*more, *row] if settings.pads_left else [*row, *more] for row, more in pairs], np.int64)


def require(holds: bool, field: str, sentence: str, /, **values: Any) -> None:
    """Raise `InputError` about `field`, in this `sentence` with `values`, unless it `holds`."""
    if not holds:
        raise InputError(Sentence(sentence, **values) if values else sentence, field)


def require_between(least: float, number: float, most: float, field: str, name: str) -> None:
    """Raise `InputError` for a `number` that is not from `least` to `most`; `name` says what it is."""
    said = Sentence("{name} must be from {least:,} to {most:,}.")
    require(least <= number <= most, field, said, name=name, least=least, most=most)


def require_tokens(tokens: Sequence[Token], field: str = "text", name: str = THE_TEXT) -> None:
    """Raise `InputError` for a text of which the tokenizer leaves no token, such as accents without letters."""
    has_any = not all(token.is_mark for token in tokens)
    require(has_any, field, Sentence("{name} is empty for this model. Please type something else."), name=name)


def require_text(text: str, field: str = "text", name: str = THE_TEXT) -> str:
    """Return `text`; raises `InputError` if it is no string or has no visible character."""
    require(isinstance(text, str), field, Sentence("{name} must be text."), name=name)
    require(says_anything(text), field, Sentence("{name} is empty. Please type something first."), name=name)
    return text
