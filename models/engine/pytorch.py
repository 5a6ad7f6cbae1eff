"""The PyTorch engine: transformers itself, where OpenVINO cannot convert a network or is not installed."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from models.cancellation import go_on
from models.engine import BFLOAT16, FLOAT32, TORCH, Ids, Logits


def rounds_quickly() -> bool:
    """Return whether networks run on a processor that has instructions for bfloat16, and not on a GPU."""
    has = torch.cpu.get_capabilities()
    return not torch.cuda.is_available() and bool(has.get("avx512_bf16") or has.get("amx_bf16"))


class PyTorchEngine:
    """An engine over a network in float32; `lock` keeps its passes from those that change the network for a moment.

    With a `precision` of `bfloat16` an encoder's large matrix products are rounded to that (autocast).
    """

    name = TORCH

    def __init__(
        self, network: PreTrainedModel, lock: AbstractContextManager[object], precision: str = FLOAT32
    ) -> None:
        self.network = network
        self.lock = lock
        self.precision = precision

    @property
    def bytes(self) -> int:
        """The size of the weights in bytes."""
        return sum(each.nbytes for each in self.network.parameters())

    def encode(self, inputs: Mapping[str, NDArray[Any]], places: Sequence[int] | None = None) -> tuple[Logits, ...]:
        """See `OpenVINOEngine`."""
        go_on()
        given = {name: on_device_of(self.network, each) for name, each in inputs.items()}
        rounding = torch.autocast(self.network.device.type, torch.bfloat16, enabled=self.precision == BFLOAT16)
        scoring = nullcontext() if places is None else scored_at(self.network, places)
        with self.lock, torch.inference_mode(), rounding, scoring:
            found = outputs_of(self.network, given)
        return tuple(array(each if places is None else each[0]) for each in found)

    def start(self, source: Ids | None = None) -> "PyTorchText":
        """See `OpenVINOEngine`."""
        return PyTorchText(self.network, self.lock, source)


class PyTorchText:
    """A text with transformers' KV cache; OpenAI's first GPT has none and reads the whole text at each step."""

    def __init__(self, network: PreTrainedModel, lock: AbstractContextManager[object], source: Ids | None) -> None:
        self._network, self._lock = network, lock
        understood = inspect.signature(network.forward).parameters
        # Logits over the vocabulary are needed after the last tokens alone.
        self._keeps_logits = "logits_to_keep" in understood
        self._cache: DynamicCache | EncoderDecoderCache | None = None
        self._source: Tensor | None = None
        self._read: Tensor | None = None
        if source is not None:
            go_on()
            self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            with lock, torch.inference_mode():
                encoder = network.get_encoder()
                self._source = encoder(input_ids=on_device_of(network, source)).last_hidden_state
        elif "past_key_values" in understood:
            self._cache = DynamicCache(config=network.config.get_text_config(decoder=True))

    def read(self, ids: Ids, wanted: int = 1) -> Logits:
        """See `OpenVINOText`."""
        go_on()
        new = on_device_of(self._network, ids)
        options: dict[str, Any] = {"logits_to_keep": wanted} if self._keeps_logits else {}
        if self._cache is None:
            self._read = new = new if self._read is None else torch.cat([self._read, new], dim=1)
        else:
            options |= {"past_key_values": self._cache, "use_cache": True}
        if self._source is None:
            options["input_ids"] = new
        else:
            vectors: Any = self._source.expand(len(new), -1, -1)
            options |= {"decoder_input_ids": new, "encoder_outputs": BaseModelOutput(last_hidden_state=vectors)}
        with self._lock, torch.inference_mode():
            return array(self._network(**options).logits[:, -wanted:].flatten(0, 1))

    def reorder(self, rows: Sequence[int]) -> None:
        """See `OpenVINOText`."""
        chosen = torch.tensor(list(rows), device=self._network.device)
        if self._cache is not None:
            self._cache.reorder_cache(chosen)  # type: ignore[arg-type]
        elif self._read is not None:
            self._read = self._read[chosen]


SENTENCE_VECTORS = "sentence_vectors"
"""The key in `config.json` of a checkpoint that compares sentences by the mean of its last layer's vectors."""


def outputs_of(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """The logits of an encoder with its head, or start and end logits.

    Where the checkpoint has `SENTENCE_VECTORS`, the mean vector of each row's tokens `[row, hidden]` comes after them
    (Sentence-BERT; Reimers and Gurevych, 2019).
    """
    with_vectors = bool(getattr(network.config, SENTENCE_VECTORS, False))
    output = network(**inputs, output_hidden_states=with_vectors)
    if "logits" not in output:
        return output.start_logits, output.end_logits
    if not with_vectors:
        return (output.logits,)
    mask = inputs["attention_mask"][:, :, None].to(output.logits.dtype)
    return output.logits, (output.hidden_states[-1] * mask).sum(dim=1) / mask.sum(dim=1)


@contextmanager
def scored_at(network: PreTrainedModel, places: Sequence[int] | Tensor) -> Iterator[None]:
    """Let the output embedding of `network` score only the vectors at `places`, indices into `[row * token]`.

    The logits of a pass inside are `[1, place, vocabulary]`. In a small model, the vocabulary is half the work.
    """

    def choose(_head: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        return (inputs[0].flatten(0, 1)[None, places],)

    head: nn.Module = network.get_output_embeddings()
    with head.register_forward_pre_hook(choose):
        yield


def on_device_of(network: PreTrainedModel, numbers: NDArray[Any]) -> Tensor:
    """`numbers` as a tensor on the device of `network`."""
    return torch.from_numpy(np.ascontiguousarray(numbers)).to(network.device)


def array(tensor: Tensor) -> Logits:
    """`tensor` as a NumPy array in float32."""
    found: Logits = tensor.float().cpu().numpy()
    return found
