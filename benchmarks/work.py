"""What is measured and how: pairs of a baseline and ours, taken in turns, and the row that comes of them."""

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
    """What was measured for one piece of work."""

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
        # Two decimals are what a median of so few pairs can tell apart; where a hundredth may be too much, four.
        ratio = round(statistics.median(mine / other for other, mine in pairs), 2 if self.needs >= SMALL else 4)
        return Row(self.name, baseline, ours, self.unit, ratio, self.needs, ratio <= self.needs)


def milliseconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def in_turns(plain: Callable[[], object], ours: Callable[[], object]) -> Sides:
    """Both measured in milliseconds; each is the first of a pair half of the time, for that may meet a cooler cache."""
    while True:
        yield milliseconds(plain), milliseconds(ours)
        first = milliseconds(ours)
        yield milliseconds(plain), first
