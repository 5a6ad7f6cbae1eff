"""Decoders' steps in one pass: visitors whose texts are written at the same time read their next tokens together."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from models.batching import Shared
from models.layout import quickly
from models.lean import Reader, may_read_together, read_together
from models.threads import fair_share

MOST_TOKENS = 256
"""How many tokens of all texts share a pass: whoever is in the middle of a text does not wait for long prompts."""

PATIENCE = 1.0
"""For how many times a pass the next one waits for those who came together before: all but surely they come again.

Between two steps each of them chooses a token, which may take as long as the step.
"""

Unread = tuple[Reader, Tensor]
"""A text as far as it has been read, and the ids to read next."""


class Steps:
    """The steps of all texts that one network writes; `lock` is held during each pass only."""

    def __init__(self, lock: AbstractContextManager[bool]) -> None:
        self._lock = lock
        self._shared: Shared[Unread, Tensor] = Shared(self._read, _fitting, PATIENCE)

    def read(self, reader: Reader, ids: Tensor) -> Tensor:
        """Let `reader` read `ids`, together with those who come while the network is busy; raises `Stopped`."""
        return self._shared((reader, ids))

    def _read(self, batch: Sequence[Unread]) -> Sequence[Tensor]:
        readers, ids = zip(*batch, strict=True)
        with self._lock, fair_share(), quickly(), torch.inference_mode():
            return read_together(readers, ids)


def _fitting(waiting: Sequence[Unread]) -> list[int]:
    """The places of those whose steps go with the first one's, in the order in which they came."""
    reader, ids = waiting[0]
    chosen, tokens = [0], ids.numel()
    for place, (other, more) in enumerate(waiting[1:], start=1):
        if may_read_together(reader, other) and tokens + more.numel() <= MOST_TOKENS:
            tokens += more.numel()
            chosen.append(place)
    return chosen
