"""Caches hold visitors' texts for their own sessions alone, within bounds of bytes and age, until they are deleted."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import demo.caches as caches
from demo.caches import HELD_FOR_S, Origin, SessionCache, size_of
from demo.log.run import Run, with_wish
from demo.runs import DemoService
from models.errors import InputError
from models.registry import Task
from tests.service.scripted import Build

ONE, OTHER = Origin(("one",)), Origin(("other",))


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_least_recently_used_goes_when_the_bytes_run_out() -> None:
    value = bytes(10_000)
    cache = SessionCache(2 * size_of(("a", value)))
    for key in ("a", "b"):
        cache.put(ONE, key, bytes(10_000))
    assert cache.get(ONE, "a") == value
    # Looking for what is old counts as no use.
    cache.forget_old()
    cache.put(ONE, "c", bytes(10_000))
    assert [cache.get(ONE, key) is not None for key in "abc"] == [True, False, True]
    cache.put(ONE, "c", bytes(10_000))
    assert cache.get(ONE, "a") == value
    cache.put(ONE, "large", bytes(30_000))
    assert cache.get(ONE, "large") is None and cache.get(ONE, "a") == value


def test_an_entry_leaves_after_an_hour_and_sooner_where_its_text_has_to() -> None:
    clock = Clock()
    cache = SessionCache(10_000, clock)
    soon = Origin(("one",), "run", clock.now + 60)
    cache.put(ONE, "hour", "x")
    cache.put(soon, "minute", "y")
    cache.put(Origin(("one",), "run", clock.now), "never", "z")
    assert cache.get(ONE, "never") is None
    clock.now += 61
    assert cache.get(ONE, "minute") is None and cache.get(ONE, "hour") == "x"
    cache.forget_old()
    assert len(cache._entries) == 1
    clock.now += HELD_FOR_S
    cache.forget_old()
    assert not cache._entries


def test_equal_questions_that_are_asked_at_once_are_computed_once() -> None:
    cache, made, begun = SessionCache(10_000), [], threading.Barrier(8)

    def make() -> str:
        made.append(1)
        time.sleep(0.2)
        return "answer"

    def ask(_number: int) -> str:
        begun.wait(20)
        return cache.get_or_make(ONE, "question", make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {"answer"}
    assert len(made) == 1
    assert cache.get_or_make(OTHER, "question", lambda: "its own") == "its own"


def _flying(cache: SessionCache, make: Callable[[], Any]) -> tuple[threading.Event, ThreadPoolExecutor, Any]:
    """A computation of another thread that goes on until the event is set."""
    goes_on, ends, pool = threading.Event(), threading.Event(), ThreadPoolExecutor(1)

    def slowly() -> Any:
        goes_on.set()
        assert ends.wait(20)
        return make()

    flight = pool.submit(cache.get_or_make, ONE, "question", slowly)
    assert goes_on.wait(20)
    return ends, pool, flight


def _raise(error: Exception) -> Any:
    raise error


def test_what_fails_fails_for_all_who_wait_and_is_tried_again_by_the_next() -> None:
    cache = SessionCache(10_000)
    ends, pool, flight = _flying(cache, lambda: _raise(InputError("no")))
    with pool, ThreadPoolExecutor(1) as waiting:
        waits = waiting.submit(cache.get_or_make, ONE, "question", lambda: "again")
        time.sleep(0.1)
        ends.set()
        assert [str(each.exception(20)) for each in (flight, waits)] == ["no", "no"]
    assert cache.get_or_make(ONE, "question", lambda: "again") == "again"


def test_nobody_waits_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "LONGEST_WAIT_S", 0.3)
    cache = SessionCache(10_000)
    ends, pool, _flight = _flying(cache, lambda: "late")
    with pool:
        with pytest.raises(InputError, match="took too long"):
            cache.get_or_make(ONE, "question", lambda: "unasked")
        ends.set()


@pytest.mark.parametrize(
    "forget",
    [
        lambda service, run: service.delete(run.id, "visitor"),
        lambda service, _run: service.delete_all("visitor"),
        lambda service, _run: service.forget(with_wish("visitor", keep=False)),
    ],
)
def test_what_is_deleted_and_what_is_not_to_be_kept_leaves_the_caches(
    forget: Callable[[DemoService, Run], object], build: Build
) -> None:
    service = build()
    ours, theirs = (service.run(session, Task.SENTIMENT, {"text": "so so"}) for session in ("visitor", "other"))
    for each in (ours, theirs):
        service.attention(each.source)
    forget(service, ours.run)
    assert [service.holds_attention(each.source) for each in (ours, theirs)] == [False, True]
    assert {key[0] for key in service._cache._entries} == {("other",)}
