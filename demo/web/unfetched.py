"""What waits in memory for somebody to fetch it: bounded in bytes over all visitors, and in time.

Three kinds of things wait: answers of calls until they are asked for, messages of Gradio's queue until a stream tells
them, and parts of answers that a client is slow to read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

MOST_BYTES = 64_000_000
MOST_S = 60.0
BESIDES_BYTES = 4_000
"""What the objects around an answer take besides its text, so that very many short ones are bounded as well."""


@dataclass(frozen=True)
class _Waiting:
    size: int
    since_s: float
    drop: Callable[[], None]


class Unfetched:
    """Drops what has waited longest when all of it is over `most_bytes`, and what has waited for `most_s`.

    Every method runs on the loop that serves the page.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, most_s: float = MOST_S) -> None:
        self.held_bytes = 0
        self._most_bytes = most_bytes
        self._most_s = most_s
        self._waiting: OrderedDict[Hashable, _Waiting] = OrderedDict()
        self._next_look: asyncio.TimerHandle | None = None

    def hold(self, key: Hashable, size: int, drop: Callable[[], None]) -> None:
        """Count `size` bytes under `key` from now on, anew where they are counted; `drop` must let go of them."""
        self.release(key)
        self._waiting[key] = _Waiting(size + BESIDES_BYTES, asyncio.get_running_loop().time(), drop)
        self.held_bytes += size + BESIDES_BYTES
        # One alone may be larger: a visitor's whole history, say.
        while self.held_bytes > self._most_bytes and len(self._waiting) > 1:
            self._drop_first()
        self._look_later()

    def release(self, key: Hashable) -> None:
        """What was held under `key` has been fetched, or is gone."""
        if waiting := self._waiting.pop(key, None):
            self.held_bytes -= waiting.size

    def _drop_first(self) -> None:
        key, waiting = next(iter(self._waiting.items()))
        self.release(key)
        waiting.drop()

    def _look_later(self) -> None:
        """Look again when what has waited longest has waited for long enough."""
        if self._next_look is None and self._waiting:
            oldest = next(iter(self._waiting.values()))
            self._next_look = asyncio.get_running_loop().call_at(oldest.since_s + self._most_s, self._look)

    def _look(self) -> None:
        self._next_look = None
        now = asyncio.get_running_loop().time()
        while self._waiting and now - next(iter(self._waiting.values())).since_s >= self._most_s:
            self._drop_first()
        self._look_later()
