"""How a forward pass is computed for an answer: by OpenVINO, or by PyTorch where OpenVINO cannot.

Both take and return numpy arrays. Tasks ask an engine and know neither. What looks inside a model (attention,
attribution, ablation, the tab Inside) does not come here: that is transformers as it is, in float32.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Logits = NDArray[np.float32]


class Text(Protocol):
    """A text that a decoder reads and writes, with its KV cache; its rows are the beams of a search."""

    def read(self, ids: Ids, wanted: int = 1) -> Logits:
        """Read `ids` `[row, token]` after what was read before.

        Returns the logits `[row * wanted, vocabulary]` of the next token after each of the last `wanted` ids of a row.
        """
        ...

    def reorder(self, rows: Sequence[int]) -> None:
        """Let row i go on as row `rows[i]` did; rows may be repeated or dropped."""
        ...


class Engine(Protocol):
    """A network that computes answers; safe to call from many threads."""

    name: str
    precision: str
    shares_network: bool
    """Whether it computes with the network that looks inside use, so that the weights are held once."""

    @property
    def bytes(self) -> int:
        """The size of its weights."""
        ...

    def encode(self, inputs: Mapping[str, NDArray[Any]], places: Sequence[int] | None = None) -> tuple[Logits, ...]:
        """One pass of an encoder and its head over `inputs` `[row, token]`: the logits, or start and end logits.

        A head that scores the vocabulary does so at `places` alone, which count through all rows; its logits are
        `[place, vocabulary]`.
        """
        ...

    def start(self, source: Ids | None = None) -> Text:
        """A text that is to be written; `source` `[1, token]` is what an encoder-decoder translates."""
        ...
