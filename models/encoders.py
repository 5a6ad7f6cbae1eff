"""Models that answer from one pass over a text: visitors who come at once share it, padded to one length."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.base import Encoded, Inputs, Loaded, Output, Raw, TaskModel
from models.batching import Shared
from models.scripted import scripted

KNOWN = frozenset({"bert", "distilbert", "roberta", "albert", "electra", "xlnet"})
"""The architectures that are known to answer the same beside padding, as long as it is masked."""

MOST_TOKENS = 384
"""How many tokens, padding included, share a pass: with more of them a token costs no less, and all would wait for all.

One text, and all windows of one, are read together however long they are.
"""

SHORT = 32
"""Up to so many tokens a pass costs nearly the same, so that padding to it is no waste."""


PATIENCE = 2.0
"""For how many times a pass the next one waits for those who came together before; see `Shared`.

Meanwhile these read and write Python, for which a pass on all cores would leave no room.
"""


@dataclass(frozen=True)
class Padded:
    """What the network reads, `[row, token]` by name, and where in it each text's own rows and tokens are.

    `firsts` are the places of the texts' first tokens.
    """

    inputs: dict[str, Tensor]
    places: tuple[tuple[slice, slice], ...]

    @property
    def firsts(self) -> tuple[int, ...]:
        """The place of each text's first token in its rows."""
        return tuple(tokens.start for _, tokens in self.places)


class EncoderModel(TaskModel[Inputs, Encoded, Raw, Output]):
    """A task's model that reads every text in a single pass."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self._shared: Shared[Encoded, Raw] = Shared(self.forward_all, self._fitting, PATIENCE)
        self._fill = {
            "input_ids": int(self.tokenizer.pad_token_id or 0),
            "token_type_ids": int(getattr(self.tokenizer, "pad_token_type_id", 0)),
        }
        self._may_pad = self.network.config.model_type in KNOWN and self.tokenizer.pad_token_id is not None

    def forward(self, encoded: Encoded) -> Raw:
        """Run the network, together with those who come while it is busy."""
        if torch.is_grad_enabled():
            # Outside of inference a network computes exactly, which those who only want an answer do not.
            return self.forward_all([encoded])[0]
        return self._shared(encoded)

    @abstractmethod
    def inputs_of(self, encoded: Encoded) -> Mapping[str, Tensor]:
        """What the network reads for one input alone, `[row, token]` by name; a mask where there is padding in it."""

    @abstractmethod
    def forward_all(self, batch: Sequence[Encoded]) -> Sequence[Raw]:
        """Run the network once for all of `batch`."""

    def padded(self, batch: Sequence[Encoded]) -> Padded:
        """What the network reads for all of `batch`."""
        return padded([self.inputs_of(each) for each in batch], self._fill, left=self.tokenizer.padding_side == "left")

    def _fitting(self, waiting: Sequence[Encoded]) -> list[int]:
        """The places of those who may be read together with the first, in the order in which they came."""
        if not self._may_pad:
            return [0]
        return fitting([tuple(self.inputs_of(each)["input_ids"].shape) for each in waiting])


def fitting(sizes: Sequence[tuple[int, ...]]) -> list[int]:
    """Which of the texts, of `(rows, tokens)` each, go with the first one; none is padded to much over its double."""
    rows, shortest = sizes[0]
    longest, chosen = shortest, [0]
    for place, (more, length) in enumerate(sizes[1:], start=1):
        least, most = min(shortest, length), max(longest, length)
        if most <= max(2 * least, SHORT) and (rows + more) * most <= MOST_TOKENS:
            rows, shortest, longest = rows + more, least, most
            chosen.append(place)
    return chosen


def padded(parts: Sequence[Mapping[str, Tensor]], fill: Mapping[str, int], *, left: bool) -> Padded:
    """The rows of all `parts` under one another, padded with `fill` on one side, and masked where there is padding."""
    sizes = [part["input_ids"].shape for part in parts]
    longest = max(length for _, length in sizes)
    places, end = [], 0
    for rows, length in sizes:
        first = longest - length if left else 0
        places.append((slice(end, end + rows), slice(first, first + length)))
        end += rows
    inputs = (
        dict(parts[0])
        if len(parts) == 1
        else {name: _stacked([part[name] for part in parts], fill.get(name, 0), longest, left) for name in parts[0]}
    )
    if any(length < longest for _, length in sizes):
        ids, masks = [part["input_ids"] for part in parts], [part.get("attention_mask") for part in parts]
        inputs["attention_mask"] = _mask(ids, masks, longest, left)
    elif all(rows == 1 for rows, _ in sizes):
        # Without padding there is nothing to mask, and a kernel without a mask is the quicker one.
        inputs.pop("attention_mask", None)
    return Padded(inputs, tuple(places))


@scripted
def _stacked(tensors: list[Tensor], fill: int, longest: int, left: bool) -> Tensor:
    """All rows of `tensors` `[row, token]`, each padded with `fill` to `longest`."""
    wide: list[Tensor] = []
    for tensor in tensors:
        missing = longest - tensor.shape[1]
        wide.append(torch.constant_pad_nd(tensor, [missing, 0] if left else [0, missing], fill) if missing else tensor)
    return torch.cat(wide) if len(wide) > 1 else wide[0]


@scripted
def _mask(ids: list[Tensor], masks: list[Tensor | None], longest: int, left: bool) -> Tensor:
    """What says by 0 which tokens are padding, `[row, token]`; where a text has no mask, all of its `ids` are real."""
    real: list[Tensor] = []
    for place in range(len(ids)):
        mask = masks[place]
        real.append(torch.ones_like(ids[place]) if mask is None else mask)
    return _stacked(real, 0, longest, left)
