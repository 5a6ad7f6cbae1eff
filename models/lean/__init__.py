"""Decoders read token by token with nothing in between: the layers of the network itself, without its bookkeeping.

A step of a small decoder spends more time in transformers' general code (masks, caches, outputs, checks of arguments)
than in its products. The same layers are called here in the same order; whatever is not known here, or is being
watched by a hook, is read by transformers itself (`models/decoder_state.py`).
"""

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from torch import Tensor
from transformers import GPT2LMHeadModel, MarianMTModel, PreTrainedModel

from models.lean.gpt2 import LeanGPT2
from models.lean.marian import LeanMarian
from models.lean.parts import are_watched, listeners
from models.scores import Best


class Reader(Protocol):
    """A decoder with a memory of what it has read."""

    @property
    def source_left(self) -> int:
        """How many tokens of a source it reads before the next ones of its own, once."""
        ...

    def read(self, ids: Tensor, wanted: int = 1) -> Best:
        """Read `ids` `[row, token]` behind what was read; what may come next behind the last `wanted` of them.

        Each of these counts as a row.
        """
        ...

    def forget(self, tokens: int) -> None:
        """Read on as if the last so many `tokens` had not been read."""
        ...

    def reorder(self, rows: Sequence[int], alike: int) -> None:
        """Go on from `rows`: row i becomes what row `rows[i]` was; rows may be repeated or dropped.

        Of the first `alike` tokens all rows are the same.
        """
        ...


def lean_reader(network: PreTrainedModel, source: Tensor | None) -> Reader | None:
    """A lean reader of `network`, where one is known; `source` `[1, token]` is what its encoder is to read."""
    if _is_watched(network):
        return None
    if type(network) is GPT2LMHeadModel and source is None and LeanGPT2.knows(network.config):
        return LeanGPT2(network)
    if type(network) is MarianMTModel and source is not None and LeanMarian.knows(network.config):
        return LeanMarian(network, source)
    return None


def may_read_together(reader: Reader, other: Reader) -> bool:
    """Whether two texts of one network can be read in one pass."""
    return isinstance(reader, LeanGPT2 | LeanMarian) and type(reader) is type(other)


def may_read_ahead(reader: Reader) -> bool:
    """Whether several tokens cost it hardly more than one, and it can forget them again."""
    return isinstance(reader, LeanGPT2 | LeanMarian)


_listeners: WeakKeyDictionary[PreTrainedModel, Any] = WeakKeyDictionary()
"""Where those are listed who listen to a network: to look through all of its modules for each text takes long."""


def _is_watched(network: PreTrainedModel) -> bool:
    listed = _listeners.get(network)
    if listed is None:
        _listeners[network] = listed = listeners(network.modules())
    return are_watched(listed)
