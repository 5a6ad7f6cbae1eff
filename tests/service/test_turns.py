"""Small runs wait for nobody; of large ones two go on at a time, and one whose visitor left does not wait."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import demo.limits as turns_module
from demo.limits import LARGE_AT_ONCE, Turns
from demo.settings import Limits
from models.cancellation import only_while
from models.errors import InputError, Stopped
from models.registry import Task

_LONG_S = 20.0
_MOST = Limits()
LARGE: dict[Task, dict[str, Any]] = {
    Task.TRANSLATION: {"text": "x" * _MOST.text, "num_beams": 8},
    Task.COMPLETION: {"prompt": "x" * 2_000, "max_new_tokens": 200, "strategy": "beam", "num_beams": 8},
}
SMALL: dict[Task, dict[str, Any]] = {
    Task.FILL_MASK: {"text": "x" * _MOST.text},
    Task.SENTIMENT: {"text": "x" * _MOST.text},
    Task.QUESTION_ANSWERING: {"question": "x" * _MOST.question, "context": "x" * _MOST.context},
    Task.TRANSLATION: {"text": "The children are playing in the garden.", "num_beams": 8, "kept": ()},
    Task.COMPLETION: {"prompt": "x" * 2_000, "max_new_tokens": 200, "strategy": "sample", "num_beams": 8},
}


@pytest.mark.parametrize("task", LARGE)
def test_of_large_runs_two_go_on_at_a_time(task: Task) -> None:
    turns, going, most = Turns(), [0], [0]
    lock, several = threading.Lock(), threading.Event()

    def run(_number: int) -> None:
        with turns.of(task, LARGE[task]):
            with lock:
                going[0] += 1
                most[0] = max(most[0], going[0])
                if going[0] == LARGE_AT_ONCE:
                    several.set()
            assert several.wait(_LONG_S)
            with lock:
                going[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert most == [LARGE_AT_ONCE]


@pytest.mark.parametrize("task", SMALL)
def test_a_small_run_waits_for_no_large_one(task: Task) -> None:
    turns = Turns()
    with turns.large(), turns.large(), turns.of(task, SMALL[task]):
        pass


def test_whoever_leaves_while_waiting_takes_no_turn() -> None:
    turns = Turns()
    with turns.large():
        with turns.large(), pytest.raises(Stopped), only_while(lambda: False), turns.large():
            raise AssertionError("there was no turn to take")
        with turns.large():
            pass


def test_a_turn_is_given_back_after_an_error() -> None:
    turns = Turns()
    for _ in range(2 * LARGE_AT_ONCE):
        with pytest.raises(ValueError, match="no"), turns.large():
            raise ValueError("no")


def test_a_turn_that_never_comes_is_waited_for_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "LONGEST_WAIT_S", 0.3)
    turns = Turns()
    with turns.large(), turns.large(), pytest.raises(InputError, match="busy for ten minutes"), turns.large():
        raise AssertionError("there was no turn to take")
    with turns.large():
        pass
