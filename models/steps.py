"""Decoders' steps in turns: of visitors whose texts are written at the same time, each reads the next tokens.

One thread makes the steps of all texts of a turn, each as it would be made alone, so that no text depends on who else
is writing.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from models.lanes import Lanes
from models.layout import quickly
from models.lean import Reader, may_read_together
from models.network_lock import NetworkLock
from models.scores import Best
from models.threads import cores, fair_share

MOST_TOKENS = 256
"""How many tokens of all texts share a pass: whoever is in the middle of a text does not wait for long prompts."""

FEW_TOKENS = 32
"""Up to so many tokens the products of a small network are too short to be parted."""

PATIENCE = 1.0
"""For how many times a pass the next one waits for those who came together before: all but surely they come again.

Between two steps each of them chooses a token, which may take as long as the step.
"""


@dataclass(frozen=True, eq=False)
class Unread:
    """A text as far as it has been read, the ids to read next, and how many of the last of them are asked about."""

    reader: Reader
    ids: Tensor
    wanted: int

    @property
    def tokens(self) -> int:
        """How many are read in this step, those of a source that has not been read yet among them."""
        return self.ids.numel() + self.reader.source_left


Told = TypeVar("Told")
Result = TypeVar("Result")

Writing = Generator[Unread | Told, Any, Result]
"""How a text is written: a generator that asks and tells.

For what it asks, an `Unread`, it is sent the `Best`; what else it yields is for whoever listens. It may be resumed by
any thread, always in inference mode.
"""


class Steps:
    """The steps of all texts that one network writes; a lane of `lock`, or all of it, is held during each pass only.

    A `small` network reads a token about as quickly with one thread as with several, which would wait for each other;
    and in a server, where every visitor's thread brings helpers of its own, more quickly.
    """

    def __init__(self, lock: NetworkLock, *, small: bool = False) -> None:
        self.lock, self._small = lock, small
        self._lanes: Lanes[Unread, Best] = Lanes(lock, self._read, _fitting, PATIENCE)

    def told(self, writing: Writing[Told, Result]) -> Iterator[Told]:
        """What `writing` tells, as soon as it does; closing the iterator stops it. Raises `Stopped`."""
        said: Best | None = None
        try:
            with self._lanes.lane() as shared:
                while True:
                    with torch.inference_mode():
                        given = writing.send(said)
                    if isinstance(given, Unread):
                        said = shared(given)
                    else:
                        said = None
                        yield given
        except StopIteration:
            return
        finally:
            writing.close()

    def result(self, writing: Writing[Told, Result]) -> Result:
        """What comes of `writing`, and nothing of what it tells meanwhile; raises `Stopped`.

        Those who want only that are written together by one thread, which goes on until its own text is finished.
        """
        whole = _Whole(writing)
        try:
            first = whole.advance(None)
            if first is not None:
                with self._lanes.lane() as shared:
                    shared(first, whole.advance)
        finally:
            writing.close()
        return whole.result[0]

    def _read(self, lane: AbstractContextManager[object], batch: Sequence[Unread]) -> Sequence[Best]:
        """Read each text as it would be read alone; where one fails, none has been read.

        A product of more rows, or with another number of threads, adds its numbers up in another order: a text that is
        written beside others would at times become another text.
        """
        # What transformers reads is not known to bear a pass beside it.
        turn = lane if may_read_together(batch[0].reader, batch[0].reader) else self.lock
        found: list[Best] = []
        with turn, quickly(), torch.inference_mode():
            try:
                for each in batch:
                    few = self._small and each.tokens <= FEW_TOKENS
                    with fair_share(turn, exactly=1 if few else cores()):
                        found.append(each.reader.read(each.ids, each.wanted))
            except BaseException:
                for read in batch[: len(found)]:
                    read.reader.forget(read.ids.shape[1])
                raise
        return found


class _Whole(Generic[Result]):
    """A `writing` that nobody listens to."""

    def __init__(self, writing: Writing[Any, Result]) -> None:
        self._writing = writing
        self.result: list[Result] = []

    def advance(self, said: Best | None) -> Unread | None:
        """Send it what is `said`; what it asks next, or nothing once there is a result."""
        try:
            with torch.inference_mode():
                given = self._writing.send(said)
                while not isinstance(given, Unread):
                    given = next(self._writing)
        except StopIteration as over:
            self.result.append(over.value)
            return None
        return given


def _fitting(waiting: Sequence[Unread]) -> list[int]:
    """The places of those whose steps go with the first one's, in the order in which they came."""
    first = waiting[0]
    chosen, tokens = [0], first.tokens
    for place, other in enumerate(waiting[1:], start=1):
        if may_read_together(first.reader, other.reader) and tokens + other.tokens <= MOST_TOKENS:
            tokens += other.tokens
            chosen.append(place)
    return chosen
