"""The shape of every model here: `preprocess -> forward -> postprocess`, and attention on demand."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from models.batching import alone
from models.capture import capture_encoder, encoder_attention
from models.checkpoints import Checkpoint
from models.errors import InputError
from models.held_bytes import held_bytes
from models.layout import quickly
from models.lean.encoder import LeanEncoder
from models.near_products import can_be_near
from models.network_lock import NetworkLock, lanes_of_a_small_network
from models.outputs import Attentions, LoadedCheckpoint, TaskOutput, Token
from models.precision import Precision
from models.sizes import is_small
from models.stopping import go_on
from models.threads import fair_share
from models.visible import says_anything

_NO_LIMIT = 10**9
_DEFAULT_WINDOW = 512
Inputs = TypeVar("Inputs")
Encoded = TypeVar("Encoded")
Raw = TypeVar("Raw")
Output = TypeVar("Output", bound=TaskOutput)


@dataclass(frozen=True)
class Loaded:
    """A network with its tokenizer, ready on its device, and where both came from."""

    checkpoint: Checkpoint
    folder: Path
    identity: LoadedCheckpoint
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


class TaskModel(ABC, Generic[Inputs, Encoded, Raw, Output]):
    """A checkpoint wrapped for its task; call it with the fields of its `inputs_type`.

    Nothing of torch leaves through `__call__` or `attend`: outputs hold numbers, text and numpy arrays.
    """

    inputs_type: ClassVar[type]

    def __init__(self, loaded: Loaded) -> None:
        self.checkpoint = loaded.checkpoint
        self.identity = loaded.identity
        self.network = loaded.network
        self.tokenizer = loaded.tokenizer
        # transformers looks through the parameters for it, and a network that is loaded does not move.
        self.device = loaded.network.device
        self._lean = LeanEncoder(loaded.network) if LeanEncoder.knows(loaded.network) else None
        # The attention kernel is a setting of the whole network, so a forward must not run while it is switched. With
        # one thread for each step, a small network can make a pass on every core.
        self.lock = NetworkLock(lanes_of_a_small_network() if self.is_small else 1)

    def __call__(self, **fields: Any) -> Output:
        """The answer to one input; raises `InputError` when the visitor can mend it."""
        return self.answer(self.inputs_type(**fields))

    def answer(self, inputs: Inputs) -> Output:
        """`preprocess -> forward -> postprocess` for inputs that are already typed."""
        with torch.inference_mode():
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

    def run(self, only: Sequence[int] | None = None, /, **network_inputs: Tensor) -> Any:
        """One quick forward pass, while no other switches the network's attention kernel; raises `Stopped`.

        With places of tokens, counted through all rows, a head that scores the vocabulary does so `only` there: its
        logits are `[1, place, vocabulary]`.
        """
        go_on()
        with self.lock, fair_share(self.lock), quickly():
            lean = self._lean
            if lean is not None and not lean.is_watched:
                return lean(only=only, **network_inputs)
            with nullcontext() if only is None else scoring_only(self.network, only):
                return self.network(**network_inputs)

    def attention_over(self, tokens: tuple[Token, ...], **network_inputs: Tensor) -> Attentions:
        """An encoder's self-attention over one text, whose inputs are `[1, token]`.

        Exact, but for large networks that compute in a lower precision: there the weights are within 0.002 of it.
        """
        lean = self._lean
        rounds = self.identity.precision != Precision.FLOAT32
        exactly = rounds and (self.is_small or not can_be_near())
        if lean is None or lean.is_watched or exactly:
            with self.eager_attention():
                return capture_encoder(self.network, network_inputs, tokens)
        with self.lock, fair_share(self.lock), torch.inference_mode():
            return encoder_attention(lean.attention(**network_inputs), tokens)

    @contextmanager
    def eager_attention(self) -> Iterator[None]:
        """Attention kernels that return their weights; the fast ones return none. Nobody's pass is shared inside."""
        fast = self.network.config._attn_implementation
        with alone(), self.lock:
            self.network.set_attn_implementation("eager")
            try:
                yield
            finally:
                self.network.set_attn_implementation(fast)

    @property
    def is_small(self) -> bool:
        """Whether an exact pass over a text takes hardly longer than a quick one."""
        return is_small(self.network)

    @property
    def looked_into(self) -> LoadedCheckpoint:
        """What answers to a look inside, which is exact whatever answers are computed in."""
        return replace(self.identity, precision=Precision.FLOAT32.value)

    @property
    def window(self) -> int:
        """The greatest number of tokens that the network reads at once, special tokens included."""
        config = self.network.config
        # XLNet says -1 for its relative positions.
        positions = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 0)
        if config.model_type == "roberta":
            # RoBERTa's positions start after its padding id, so that the first ones are never used.
            positions -= config.pad_token_id + 1
        bounds = [bound for bound in (positions, self.tokenizer.model_max_length or 0) if 0 < bound < _NO_LIMIT]
        # Where neither names a bound, the page's own holds: it draws up to 512 tokens.
        return min(bounds, default=_DEFAULT_WINDOW)

    @property
    def vocabulary(self) -> int:
        """The number of scores that the network has for a token; checkpoints may pad it past the tokenizer's own."""
        return int(self.network.get_output_embeddings().weight.shape[0])

    @property
    def held_bytes(self) -> int:
        """The bytes of all numbers that this model holds: its parameters, and their copies laid out for products."""
        return held_bytes(self)

    def require_window(self, length: int, field: str, what: str = "That is") -> None:
        """Refuse a text of more than `window` tokens with a sentence that says both numbers."""
        if length > self.window:
            raise InputError(
                f"{what} {length:,} tokens, and this model reads at most {self.window:,} at once. Please shorten it.",
                field,
            )


@contextmanager
def scoring_only(network: PreTrainedModel, places: Sequence[int]) -> Iterator[None]:
    """Let the output embedding of `network` score the vocabulary at some places alone, counted through all rows.

    Half of a small model's work is to score every word of the vocabulary at every token.
    """

    def some(_head: nn.Module, hidden: tuple[Tensor, ...]) -> tuple[Tensor]:
        return (hidden[0].flatten(0, 1)[None, list(places)],)

    head: nn.Module = network.get_output_embeddings()
    hook = head.register_forward_pre_hook(some)
    try:
        yield
    finally:
        hook.remove()


def require_tokens(tokens: Sequence[Token], field: str, name: str) -> None:
    """Raise `InputError` for a text of which the tokenizer leaves no token, such as accents without letters."""
    if all(token.is_mark for token in tokens):
        raise InputError(f"{name} is empty for this model. Please type something else.", field)


AnyTaskModel = TaskModel[Any, Any, Any, Any]


def require_text(text: str, field: str, name: str) -> str:
    """`text` if it says anything; raises `InputError` for empty text and for characters that cannot be written down."""
    if not isinstance(text, str):
        raise InputError(f"{name} must be text.", field)
    if not says_anything(text):
        raise InputError(f"{name} is empty. Please type something first.", field)
    return text
