"""What is measured and how: pairs of a baseline and ours, taken in turns, and the row that comes of them."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WARM_UP_RUNS = 3
_SMALL = 0.05

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


def measure(work: Work, runs: int) -> Row:
    """The medians of `runs` pairs, after a warm-up where there is more than one."""
    sides = work.sides()
    for _ in range(WARM_UP_RUNS if runs > 1 else 0):
        next(sides)
    pairs = [next(sides) for _ in range(runs)]
    baseline, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    # Two decimals are what a median of so many pairs can tell apart; where a hundredth may be too much, four.
    ratio = round(statistics.median(mine / other for other, mine in pairs), 2 if work.needs >= _SMALL else 4)
    return Row(work.name, round(baseline, 2), round(ours, 2), work.unit, ratio, work.needs, ratio <= work.needs)
