"""What is made once is the same for all threads, also for those that ask while it is being made."""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from models.compiled import code
from models.compiled.helpers import helpers
from models.kernels.processor import HELPING
from models.once import once

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers sleep as they do in Linux")

ASKING = 8

Found = TypeVar("Found")


def asked_at_once(ask: Callable[[], Found]) -> list[Found]:
    """What as many threads as `ASKING` are told, all of which ask at the same time."""
    together, told = threading.Barrier(ASKING), []

    def wait_and_ask() -> None:
        together.wait()
        told.append(ask())

    threads = [threading.Thread(target=wait_and_ask) for _ in range(ASKING)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return told


def test_threads_that_ask_at_once_are_told_the_same() -> None:
    slow = threading.Event()
    made: list[object] = []

    @once
    def make(_name: str) -> object:
        slow.wait(0.05)
        made.append(object())
        return made[-1]

    told = asked_at_once(lambda: make("one"))
    assert told == made * ASKING and len(made) == 1
    assert make("one") is made[0] and make("another") is made[1]


def test_what_is_made_may_ask_for_more() -> None:
    @once
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(5) == 120


def test_what_fails_is_tried_again() -> None:
    tried: list[int] = []

    @once
    def make() -> int:
        tried.append(1)
        return 1 // (len(tried) - 1)

    with pytest.raises(ZeroDivisionError):
        make()
    assert make() == 1


def test_an_address_is_one_of_the_code_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Code whose engine is gone is gone, too, and whoever calls it ends the process.
    assert code.wait_for(HELPING)
    for name in ("_engine", "address_of"):
        # As in a process that has just begun; others go on with the code that they have.
        monkeypatch.setattr(code, name, once(getattr(code, name).__wrapped__))
    told = asked_at_once(lambda: code.address_of(HELPING, "lead"))
    assert set(told) == {code._engine(HELPING).get_function_address("lead")}


def test_threads_have_the_same_helpers() -> None:
    assert len({id(each) for each in asked_at_once(helpers)}) == 1
