"""Who may compute with a network: passes in several lanes at once, or one who changes it and has it alone."""

from contextlib import ExitStack
from types import TracebackType

from models.threads import cores
from models.waiting import BoundedLock

MOST_LANES = 2
"""What is between two passes is Python, for which threads take turns: more of them would wait for each other."""


class NetworkLock:
    """Held as a whole by whoever wants a network alone, as often as that thread likes; each of its `lanes` by a pass.

    Passes only read the weights, so those of two lanes do not disturb each other.
    """

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = tuple(BoundedLock() for _ in range(lanes))

    def __enter__(self) -> None:
        # Always in the same order, so that two who want the whole do not wait for each other.
        with ExitStack() as held:
            for lane in self.lanes:
                held.enter_context(lane)
            held.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in reversed(self.lanes):
            lane.__exit__(kind, error, trace)


def lanes_of_a_small_network() -> int:
    """How many passes of a network whose steps one thread makes as quickly as several may go on at once."""
    return min(MOST_LANES, cores())
