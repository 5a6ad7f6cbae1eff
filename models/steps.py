"""Decoders' steps in one pass: visitors whose texts are written at the same time read their next tokens together."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from models.batching import Shared
from models.layout import quickly
from models.lean import Reader, may_read_together, read_together
from models.scores import Best
from models.threads import fair_share

MOST_TOKENS = 256
"""How many tokens of all texts share a pass: whoever is in the middle of a text does not wait for long prompts."""

FEW_TOKENS = 32
"""Up to so many tokens the products of a small network are too short to be parted."""

PATIENCE = 1.0
"""For how many times a pass the next one waits for those who came together before: all but surely they come again.

Between two steps each of them chooses a token, which may take as long as the step.
"""


@dataclass(frozen=True, eq=False)
class _Unread:
    """A text as far as it has been read, the ids to read next, and how many of the last of them are asked about."""

    reader: Reader
    ids: Tensor
    wanted: int


class Steps:
    """The steps of all texts that one network writes; `lock` is held during each pass only.

    A `small` network reads a token about as quickly with one thread as with several, which would wait for each other;
    and in a server, where every visitor's thread brings helpers of its own, more quickly.
    """

    def __init__(self, lock: AbstractContextManager[bool], *, small: bool = False) -> None:
        self._lock, self._small = lock, small
        self._shared: Shared[_Unread, Best] = Shared(self._read, _fitting, PATIENCE)

    def read(self, reader: Reader, ids: Tensor, wanted: int = 1) -> Best:
        """Let `reader` read `ids`, together with those who come while the network is busy; raises `Stopped`."""
        return self._shared(_Unread(reader, ids, wanted))

    @property
    def are_shared(self) -> bool:
        """Whether several texts have lately been read together."""
        return self._shared.is_shared

    def _read(self, batch: Sequence[_Unread]) -> Sequence[Best]:
        few = self._small and sum(each.ids.numel() for each in batch) <= FEW_TOKENS
        with self._lock, fair_share(self._lock, 1 if few else sys.maxsize), quickly(), torch.inference_mode():
            return read_together(
                [each.reader for each in batch], [each.ids for each in batch], [each.wanted for each in batch]
            )


def _fitting(waiting: Sequence[_Unread]) -> list[int]:
    """The places of those whose steps go with the first one's, in the order in which they came."""
    first = waiting[0]
    chosen, tokens = [0], first.ids.numel()
    for place, other in enumerate(waiting[1:], start=1):
        if may_read_together(first.reader, other.reader) and tokens + other.ids.numel() <= MOST_TOKENS:
            tokens += other.ids.numel()
            chosen.append(place)
    return chosen
