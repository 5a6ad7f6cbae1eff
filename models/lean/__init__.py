"""Decoders read token by token with nothing in between: the layers of the network itself, without its bookkeeping.

A step of a small decoder spends more time in transformers' general code (masks, caches, outputs, checks of arguments)
than in its products. The same layers are called here in the same order; whatever is not known here, or is being
watched by a hook, is read by transformers itself (`models/decoder_state.py`).
"""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor
from transformers import GPT2LMHeadModel, MarianMTModel, PreTrainedModel

from models.lean.gpt2 import LeanGPT2
from models.lean.marian import LeanMarian
from models.lean.parts import are_watched, listeners


class Reader(Protocol):
    """A decoder with a memory of what it has read."""

    def read(self, ids: Tensor) -> Tensor:
        """Read `ids` `[row, token]` behind what was read; the logits `[row, vocabulary]` of the next token, float32."""
        ...

    def reorder(self, rows: Tensor) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped."""
        ...


def lean_reader(network: PreTrainedModel, encoded: Tensor | None) -> Reader | None:
    """A lean reader of `network`, where one is known; `encoded` `[1, token, width]` is what its encoder has read."""
    if are_watched(listeners(network.modules())):
        return None
    if type(network) is GPT2LMHeadModel and encoded is None and LeanGPT2.knows(network.config):
        return LeanGPT2(network)
    if type(network) is MarianMTModel and encoded is not None:
        return LeanMarian(network, encoded)
    return None


def may_read_together(reader: Reader, other: Reader) -> bool:
    """Whether two texts of one network can be read in one pass."""
    return isinstance(reader, LeanGPT2 | LeanMarian) and type(reader) is type(other)


def read_together(readers: Sequence[Reader], ids: Sequence[Tensor]) -> Sequence[Tensor]:
    """What each of `readers` reads of its own `ids`, in one pass; where that fails, nobody has read anything."""
    first = readers[0]
    if len(readers) == 1 or not isinstance(first, LeanGPT2 | LeanMarian):
        return [reader.read(each) for reader, each in zip(readers, ids, strict=True)]
    remembered = [layer for reader in readers for layer in reader.remembered]  # type: ignore[attr-defined]
    lengths = [layer.length for layer in remembered]
    try:
        found: Sequence[Tensor] = type(first).read_together(readers, ids)  # type: ignore[arg-type]
    except BaseException:
        for layer, length in zip(remembered, lengths, strict=True):
            layer.length = length
        raise
    return found
