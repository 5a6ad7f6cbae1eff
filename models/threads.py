"""How many threads a forward pass takes: all cores when it is alone, fewer when somebody else computes.

The threads of one operation wait for each other at its end, so a team larger than the free cores is slower than one
thread that never waits. Asked before each pass, for a visitor may come, or another program start, between two tokens.
With another number of threads a product may be rounded otherwise; a text that is written must not depend on that, and
takes the same number at each pass.
"""

import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import torch

STILL_THERE_S = 0.02
"""How long after its last pass a network is taken to go on: between two passes a token is chosen."""

SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.25, 60.0
"""Over how long other programs' share of the cores is measured; what is older says nothing about now."""


@dataclass(frozen=True)
class Used:
    """Seconds of processor time since some moment: of all programs together, and of this one."""

    all_s: float
    own_s: float


def used_now() -> Used:
    """What the operating system has counted so far."""
    everybody, own = psutil.cpu_times(), psutil.Process().cpu_times()
    idle = everybody.idle + getattr(everybody, "iowait", 0.0)
    # A guest's time is counted as user time, too.
    guests = getattr(everybody, "guest", 0.0) + getattr(everybody, "guest_nice", 0.0)
    return Used(sum(everybody) - idle - guests, own.user + own.system)


class Cores:
    """Shares `cores` among the threads of this process that run networks, less what other programs use."""

    def __init__(
        self, cores: int, used: Callable[[], Used] = used_now, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cores = cores
        self._used, self._clock = used, clock
        self._lock = threading.Lock()
        self._passes_end_s: dict[object, float] = {}
        self._looked_at_s, self._counted = clock(), used()
        self._foreign = 0.0

    @contextmanager
    def share(self, turn: object) -> Iterator[int]:
        """How many threads a pass inside may take; those of one `turn` are made one after the other, by anyone."""
        with self._lock:
            going_on = self._going_on()
            # A pass under way has no end yet.
            going_on[turn] = math.inf
            threads = max(1, round(self.cores - self._foreign) // len(going_on))
        try:
            yield threads
        finally:
            with self._lock:
                self._passes_end_s[turn] = self._clock()

    def left_to(self, turns: Collection[object]) -> int:
        """How many passes of these `turns` may go on at once, each with a core that nobody else computes on."""
        with self._lock:
            others = sum(each not in turns for each in self._going_on())
            return max(1, round(self.cores - self._foreign) - others)

    def _going_on(self) -> dict[object, float]:
        """When the last passes of those turns ended that go on, or will be soon."""
        now = self._clock()
        self._look(now)
        self._passes_end_s = {each: end for each, end in self._passes_end_s.items() if now - end <= STILL_THERE_S}
        return self._passes_end_s

    def _look(self, now: float) -> None:
        passed_s = now - self._looked_at_s
        if passed_s < SHORTEST_LOOK_S:
            return
        counted = self._used()
        others_s = (counted.all_s - self._counted.all_s) - (counted.own_s - self._counted.own_s)
        self._foreign = max(0.0, others_s / passed_s) if passed_s <= LONGEST_LOOK_S else 0.0
        self._looked_at_s, self._counted = now, counted


_cores = Cores(torch.get_num_threads())


def cores() -> int:
    """How many there are: `torch.get_num_threads` tells how many the calling thread was last given."""
    return _cores.cores


def cores_left_to(turns: Collection[object]) -> int:
    """How many passes of these `turns` (see `fair_share`) may go on at once without others in their way."""
    return _cores.left_to(turns)


@contextmanager
def fair_share(turn: object, exactly: int | None = None) -> Iterator[None]:
    """Let the calling thread's operations inside take as many threads as are their share, or `exactly` so many.

    `turn` is what the thread holds meanwhile, so that nobody else computes with the same network.
    """
    with _cores.share(turn) as share:
        threads = share if exactly is None else exactly
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        yield
