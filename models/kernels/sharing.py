"""How threads share a pass: parts in phases, of which the next begins when every part of the one before is done.

Whoever is free takes the next part, so that a thread that comes late, or that the system puts to sleep, keeps nobody
waiting but with the part that it has begun. All counts only grow, from the first part of a pass to its last.
"""

from collections.abc import Callable
from typing import Any

import numba

from models.kernels.language import compiled
from models.kernels.layout import COUNTS
from models.kernels.memory import add_one, count_at, set_count

_APART = COUNTS // 3
"""Counts stand so many numbers of 8 bytes apart: what one thread writes would be taken from the caches of others."""

_TAKEN, _OPEN, _DONE = 0, 8 * _APART, 16 * _APART

_NOTHING = -1

_LOOKS = 2000
"""After so many looks in vain, some tens of microseconds, another thread may have the core."""

_give_way = numba.types.ExternalFunction("sched_yield", numba.types.intc())


@compiled
def _wait_for_more(at: int, count: int) -> None:
    """Return when the count at this address is greater than `count`."""
    looks = 0
    while count_at(at) <= count:
        looks += 1
        if looks > _LOOKS:
            looks = 0
            _give_way()


@compiled
def _taken(counts: Any, total: int) -> int:
    """The next part for the calling thread, counted from 0, or `_NOTHING` if all of the `total` are taken.

    It may be one of the next phase: `_wait_for_phase` before it is begun.
    """
    part = int(add_one(counts.ctypes.data + _TAKEN))
    return part if part < total else _NOTHING


@compiled
def _wait_for_phase(counts: Any, part: int) -> None:
    """Return when the phase of a `part` has begun."""
    _wait_for_more(counts.ctypes.data + _OPEN, part)


@compiled
def _ends_phase(counts: Any) -> bool:
    """Count a part as done; whether it was the last one of its phase, so that the caller opens the next."""
    at = counts.ctypes.data
    return bool(add_one(at + _DONE) + 1 == count_at(at + _OPEN))


@compiled
def _open_to(counts: Any, end: int) -> None:
    """Let parts up to `end` be taken."""
    set_count(counts.ctypes.data + _OPEN, end)


@compiled
def _wait_for_all(counts: Any, total: int) -> None:
    """Return when all of the `total` parts are done."""
    _wait_for_more(counts.ctypes.data + _DONE, total - 1)


def shared(
    weights_at: Callable[..., Any], pass_at: Callable[..., Any], do: Callable[..., None], prepare: Callable[..., None]
) -> Callable[[int, int, int], None]:
    """What takes part in passes, given the records of weights and of a pass, which the first two read.

    `do` does a part of a phase, and `prepare` what one thread does alone before all of a phase. What is given to all
    has `ends`, after how many parts each phase ends, and `counts`, zeros before the first part.
    """

    @compiled
    def share(weights_record: int, pass_record: int, number: int) -> None:
        weights, of = weights_at(weights_record), pass_at(pass_record)
        total, phase = of.ends[-1], 0
        if number == 0:
            prepare(0, weights, of)
            _open_to(of.counts, of.ends[0])
        while True:
            part = _taken(of.counts, total)
            if part == _NOTHING:
                break
            while part >= of.ends[phase]:
                phase += 1
            start = of.ends[phase - 1] if phase else 0
            _wait_for_phase(of.counts, part)
            do(phase, part - start, number, weights, of)
            if _ends_phase(of.counts) and phase + 1 < len(of.ends):
                prepare(phase + 1, weights, of)
                _open_to(of.counts, of.ends[phase + 1])
        if number == 0:
            _wait_for_all(of.counts, total)

    return share
