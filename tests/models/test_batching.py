"""Callers who come while a pass goes on share the next one, and nothing but the pass."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from demo.sessions.batching import Shared
from models.cancellation import BoundedLock, go_on, only_while
from models.errors import Overdue, Stopped

MANY = 8
_LONG_S = 20.0


class Network:
    """Doubles numbers, and waits before the first batch until it is let go; a negative number breaks it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.threads: list[int] = []
        self.began, self.may_go = threading.Event(), threading.Event()

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        go_on()
        self.batches.append(list(numbers))
        self.threads.append(threading.get_ident())
        self.began.set()
        assert self.may_go.wait(_LONG_S)
        if min(numbers) < 0:
            raise ValueError(f"{numbers} is too little")
        return [2 * number for number in numbers]


class Visitors:
    """A first call that keeps the network busy, and others that come meanwhile."""

    def __init__(
        self,
        fitting: Callable[[Sequence[int]], Sequence[int]] = lambda items: range(len(items)),
        patience: float = 0.0,
    ) -> None:
        self.network = Network()
        self.shared: Shared[int, int] = Shared(self.network, fitting, patience)
        self._pool = ThreadPoolExecutor(4 * MANY)
        self.first = self._pool.submit(self._call, 0, lambda: True)
        assert self.network.began.wait(_LONG_S)

    def come(
        self,
        number: int,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Future[int]:
        waiting = len(self.shared._waiting)
        answer = self._pool.submit(self._call, number, wanted)
        while len(self.shared._waiting) == waiting and not answer.done():
            time.sleep(0.001)
        return answer

    def _call(self, number: int, wanted: Callable[[], bool]) -> int:
        with only_while(wanted):
            return self.shared(number)

    def go(self) -> None:
        self.network.may_go.set()


def test_those_who_come_during_a_pass_share_the_next_and_each_gets_its_own() -> None:
    visitors = Visitors()
    answers = [visitors.come(number) for number in range(1, MANY)]
    visitors.go()
    assert visitors.first.result() == 0
    assert [answer.result() for answer in answers] == [2 * number for number in range(1, MANY)]
    assert visitors.network.batches == [[0], list(range(1, MANY))]


def test_those_who_do_not_fit_go_next_and_nobody_is_passed_over() -> None:
    visitors = Visitors(lambda items: range(min(2, len(items))))
    answers = [visitors.come(number) for number in (1, 2, 3)]
    visitors.go()
    assert [answer.result() for answer in answers] == [2, 4, 6]
    assert visitors.network.batches == [[0], [1, 2], [3]]


def test_what_cannot_be_answered_hits_only_its_sender() -> None:
    visitors = Visitors()
    answers = {number: visitors.come(number) for number in (1, -1, 2, -2)}
    visitors.go()
    for number, answer in answers.items():
        if number > 0:
            assert answer.result() == 2 * number
        else:
            with pytest.raises(ValueError, match=rf"\[{number}\] is too little"):
                answer.result()
    assert visitors.shared(5) == 10


def test_whoever_left_while_waiting_costs_no_pass_and_stops_nobody() -> None:
    visitors = Visitors()
    there = True
    answers = [visitors.come(1, lambda: there), visitors.come(2), visitors.come(3, lambda: there), visitors.come(4)]
    there = False
    visitors.go()
    for left in (answers[0], answers[2]):
        with pytest.raises(Stopped):
            left.result()
    assert [answers[1].result(), answers[3].result()] == [4, 8]
    assert visitors.network.batches == [[0], [2, 4]]


def test_a_question_that_fails_whether_somebody_waits_hits_only_its_visitor() -> None:
    def broken() -> bool:
        if visitors.network.batches:
            raise LookupError("nobody knows")
        return True

    visitors = Visitors()
    network = visitors.network
    network.batches, kept = [], network.batches
    answers = [visitors.come(1, broken), visitors.come(2)]
    network.batches = kept
    visitors.go()
    with pytest.raises(LookupError):
        answers[0].result()
    assert answers[1].result() == 4


def test_one_who_leads_and_leaves_stops_nobody() -> None:
    visitors = Visitors()
    leader = visitors.come(1, lambda: len(visitors.network.batches) < 2)
    other = visitors.come(2)
    visitors.go()
    assert other.result() == 4
    assert leader.result() == 2


def test_a_visitor_alone_never_waits_for_others() -> None:
    visitors = Visitors(patience=1e9)
    visitors.go()
    assert visitors.first.result() == 0
    began = time.monotonic()
    for number in range(100):
        assert visitors.shared(number) == 2 * number
    assert time.monotonic() - began < _LONG_S / 2


def test_those_who_were_answered_together_are_awaited_together() -> None:
    visitors = Visitors(patience=1e9)
    together = [visitors.come(number) for number in (1, 2, 3)]
    visitors.go()
    assert [each.result() for each in together] == [2, 4, 6]
    again = [visitors.come(number) for number in (4, 5, 6)]
    assert [each.result() for each in again] == [8, 10, 12]
    assert visitors.network.batches[2:] == [[4, 5, 6]]


def test_a_crowd_on_many_threads_gets_no_answer_of_another() -> None:
    visitors = Visitors(lambda items: range(min(5, len(items))))
    visitors.go()

    def ask(visitor: int) -> None:
        for turn in range(200):
            number = 1000 * visitor + turn
            assert visitors.shared(number) == 2 * number

    with ThreadPoolExecutor(MANY) as pool:
        for done in [pool.submit(ask, visitor) for visitor in range(1, MANY + 1)]:
            done.result()
    asked = sorted(number for batch in visitors.network.batches for number in batch)
    assert asked == [0, *(1000 * visitor + turn for visitor in range(1, MANY + 1) for turn in range(200))]


def up_to(most: int) -> Callable[[int], int | None]:
    """Each result is the next item, as long as it is no more than `most`."""
    return lambda result: result if result <= most else None


def test_an_interrupt_leaves_nobody_waiting() -> None:
    visitors = Visitors()

    def interrupted(_numbers: Sequence[int]) -> list[int]:
        raise KeyboardInterrupt

    answers = [visitors.come(number) for number in (1, 2)]
    visitors.shared._work = interrupted
    visitors.go()
    with pytest.raises(KeyboardInterrupt):
        answers[0].result()
    with pytest.raises(Stopped):
        answers[1].result()
    visitors.shared._work = visitors.network
    assert visitors.shared(3) == 6


STAGES = ("gathering", "fitting", "work", "counting")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt], ids=lambda error: error.__name__)
@pytest.mark.parametrize("stage", STAGES)
def test_whatever_stage_raises_once_later_callers_are_answered(
    stage: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many callers as there may be, of whom one meets the error, and others who come later."""
    visitors = Visitors()
    shared, failures = visitors.shared, [error("once")]

    def failing(inner: Callable[..., Any]) -> Callable[..., Any]:
        def once(*given: Any) -> Any:
            if failures:
                raise failures.pop()
            return inner(*given)

        return once

    if stage == "gathering":
        monkeypatch.setattr(shared, "_gathered", failing(shared._gathered))
    elif stage == "counting":
        # A result too few or too many.
        inner = visitors.network
        monkeypatch.setattr(
            shared, "_work", lambda items: [*inner(items), *([0] if failures and failures.pop() else [])]
        )
    else:
        monkeypatch.setattr(shared, f"_{stage}", failing(getattr(shared, f"_{stage}")))
    answers = [visitors.come(number) for number in range(1, MANY)]
    visitors.go()
    visitors.first.result(_LONG_S)
    met = [answer.exception(_LONG_S) for answer in answers]
    assert not failures
    assert any(each is None for each in met) or error is KeyboardInterrupt
    assert [visitors.come(number).result(_LONG_S) for number in (5, 6)] == [10, 12]
    assert not shared._waiting and not shared._busy


def test_a_pass_that_never_ends_holds_up_later_callers_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demo.sessions.batching.LONGEST_PASS_S", 0.2)
    monkeypatch.setattr("demo.sessions.batching.ASK_EVERY_S", 0.05)
    visitors = Visitors()
    there = True
    gone = visitors.come(2, lambda: there)
    there = False
    with pytest.raises(Stopped):
        gone.result(_LONG_S)
    with pytest.raises(Overdue, match="busy for too long"):
        visitors.come(1).result(_LONG_S)
    visitors.go()
    assert visitors.first.result(_LONG_S) == 0
    assert visitors.come(3).result(_LONG_S) == 6


def test_a_lock_that_is_never_given_back_is_an_error_and_no_hang() -> None:
    lock = BoundedLock(0.1)

    def take() -> None:
        with lock:
            pass

    def take_for_nobody() -> None:
        with only_while(lambda: False), lock:
            pass

    with ThreadPoolExecutor(2) as pool:
        with lock:
            with pytest.raises(Overdue):
                pool.submit(take).result(_LONG_S)
            with pytest.raises(Stopped):
                pool.submit(take_for_nobody).result(_LONG_S)
        pool.submit(take).result(_LONG_S)
