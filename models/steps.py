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
from models.scores import Scores, scores_of_each
from models.threads import fair_share

MOST_TOKENS = 256
"""How many tokens of all texts share a pass: whoever is in the middle of a text does not wait for long prompts."""

FEW_TOKENS = 16
"""Up to so many tokens the products of a small network are too short to be parted."""

PATIENCE = 1.0
"""For how many times a pass the next one waits for those who came together before: all but surely they come again.

Between two steps each of them chooses a token, which may take as long as the step.
"""


@dataclass(frozen=True, eq=False)
class _Unread:
    """A text as far as it has been read, and the ids to read next; `scored` where its best tokens are wanted, too."""

    reader: Reader
    ids: Tensor
    scored: bool


class Steps:
    """The steps of all texts that one network writes; `lock` is held during each pass only.

    A `small` network reads a token as quickly with one thread as with several, which would wait for each other.
    """

    def __init__(self, lock: AbstractContextManager[bool], *, small: bool = False) -> None:
        self._lock, self._small = lock, small
        self._shared: Shared[_Unread, Tensor | Scores] = Shared(self._read, _fitting, PATIENCE)

    def read(self, reader: Reader, ids: Tensor) -> Tensor:
        """Let `reader` read `ids`, together with those who come while the network is busy; raises `Stopped`."""
        logits = self._shared(_Unread(reader, ids, scored=False))
        assert isinstance(logits, Tensor)  # noqa: S101
        return logits

    def scores(self, reader: Reader, ids: Tensor) -> Scores:
        """The same for a text of one row, its best tokens found with those of the others."""
        scores = self._shared(_Unread(reader, ids, scored=True))
        assert isinstance(scores, Scores)  # noqa: S101
        return scores

    def _read(self, batch: Sequence[_Unread]) -> Sequence[Tensor | Scores]:
        few = self._small and sum(each.ids.numel() for each in batch) <= FEW_TOKENS
        with self._lock, fair_share(1 if few else sys.maxsize), quickly(), torch.inference_mode():
            logits = read_together([each.reader for each in batch], [each.ids for each in batch])
            scored = [found for found, each in zip(logits, batch, strict=True) if each.scored]
            scores = iter(scores_of_each(scored) if scored else ())
            return [next(scores) if each.scored else found for found, each in zip(logits, batch, strict=True)]


def _fitting(waiting: Sequence[_Unread]) -> list[int]:
    """The places of those whose steps go with the first one's, in the order in which they came."""
    first = waiting[0]
    chosen, tokens = [0], first.ids.numel()
    for place, other in enumerate(waiting[1:], start=1):
        if may_read_together(first.reader, other.reader) and tokens + other.ids.numel() <= MOST_TOKENS:
            tokens += other.ids.numel()
            chosen.append(place)
    return chosen
