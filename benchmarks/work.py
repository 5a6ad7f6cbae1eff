"""How a benchmark is measured: pairs of the baseline and ours, taken in turns, and the row of their medians."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WARM_UP_RUNS = 3
SMALL = 0.05

Sides = Iterator[tuple[float, float]]
"""Pairs of one measurement of the baseline and one of ours, without end."""


@dataclass(frozen=True)
class Row:
    """The result of one benchmark: both medians, their `ratio`, and whether it is at most `needs`."""

    work: str
    baseline: float
    ours: float
    unit: str
    ratio: float
    needs: float
    met: bool


@dataclass(frozen=True)
class Work:
    """Something to measure: `sides` yields pairs, and ours may be at most `needs` times the baseline."""

    name: str
    unit: str
    needs: float
    sides: Callable[[], Sides]
    runs: int = 31

    def measure(self, runs: int) -> Row:
        """The medians of `runs` pairs, after a warm-up where there is more than one."""
        sides = self.sides()
        for _ in range(WARM_UP_RUNS if runs > 1 else 0):
            next(sides)
        pairs = [next(sides) for _ in range(runs)]
        baseline, ours = (round(statistics.median(side), 2) for side in zip(*pairs, strict=True))
        # A median of so few pairs is good for two decimals; a limit below `SMALL` needs four all the same.
        ratio = round(statistics.median(mine / other for other, mine in pairs), 2 if self.needs >= SMALL else 4)
        return Row(self.name, baseline, ours, self.unit, ratio, self.needs, ratio <= self.needs)


def milliseconds(action: Callable[[], object]) -> float:
    """The milliseconds that one call takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def in_turns(plain: Callable[[], object], ours: Callable[[], object]) -> Sides:
    """Measure both in milliseconds; each goes first in half of the pairs, since the first may meet a colder cache."""
    while True:
        yield milliseconds(plain), milliseconds(ours)
        first = milliseconds(ours)
        yield milliseconds(plain), first
