"""Shared passes in lanes: callers are parted among them, and each lane makes its passes on a core of its own."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Generic

from models.batching import Item, Result, Shared, is_alone
from models.network_lock import NetworkLock
from models.threads import cores_left_to

Work = Callable[[AbstractContextManager[object], Sequence[Item]], Sequence[Result]]
"""Results for items, in order, computed while the lock is held that it is given."""


class Lanes(Generic[Item, Result]):
    """As many `Shared` as `lock` has lanes, for the same `work`; whoever is `alone` has the whole lock."""

    def __init__(
        self,
        lock: NetworkLock,
        work: Work[Item, Result],
        fitting: Callable[[Sequence[Item]], Sequence[int]],
        patience: float,
        cores_left: Callable[[Collection[object]], int] = cores_left_to,
    ) -> None:
        self._lock, self._work = lock, work
        self._cores_left = partial(cores_left, (lock, *lock.lanes))
        # A single lane is the network's one turn, so that its passes and others are not taken for two at once.
        lanes: Sequence[AbstractContextManager[object]] = lock.lanes if len(lock.lanes) > 1 else (lock,)
        self._lanes = [_Lane(Shared[Item, Result](partial(self._pass, lane), fitting, patience)) for lane in lanes]
        self._guard = threading.Lock()

    @contextmanager
    def lane(self) -> Iterator[Shared[Item, Result]]:
        """The one with the fewest callers, the first of several, for a caller who comes to it again and again.

        Beside other networks, whose passes want cores too, only so many are open to new callers as have one.
        """
        with self._guard:
            lane = min(self._lanes[: self._cores_left()], key=lambda each: each.callers)
            lane.callers += 1
        try:
            yield lane.shared
        finally:
            with self._guard:
                lane.callers -= 1

    def _pass(self, lane: AbstractContextManager[object], items: Sequence[Item]) -> Sequence[Result]:
        return self._work(self._lock if is_alone() else lane, items)


class _Lane(Generic[Item, Result]):
    def __init__(self, shared: Shared[Item, Result]) -> None:
        self.shared = shared
        self.callers = 0
