"""Passes of several lanes go on side by side, and nobody changes a network meanwhile."""

import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest
import torch

from models import threads
from models.batching import alone
from models.decoder_state import DecoderState
from models.lanes import Lanes
from models.network_lock import MOST_LANES, NetworkLock, lanes_of_a_small_network
from models.steps import Steps
from models.threads import Cores, Used, fair_share
from tests.models.test_lean import gpt2

_LONG_S, _SHORT_S = 20.0, 0.2


def all_of(items: Sequence[int]) -> range:
    return range(len(items))


def is_free(lock: NetworkLock) -> bool:
    """Whether another thread could have all of it."""

    def tried() -> bool:
        taken = [lane._lock.acquire(timeout=_SHORT_S) for lane in lock.lanes]
        for lane, got in zip(lock.lanes, taken, strict=True):
            if got:
                lane._lock.release()
        return all(taken)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(tried).result()


def test_passes_of_two_lanes_are_under_way_at_once() -> None:
    met = threading.Barrier(2)

    def work(lane: AbstractContextManager[object], items: Sequence[int]) -> list[int]:
        with lane:
            met.wait(_LONG_S)
        return list(items)

    lanes: Lanes[int, int] = Lanes(NetworkLock(2), work, all_of, 0.0, lambda _: 2)

    def call(number: int) -> int:
        with lanes.lane() as shared:
            return shared(number)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, range(2))) == [0, 1]


def test_callers_are_parted_evenly_and_whoever_comes_back_finds_room() -> None:
    lanes: Lanes[int, int] = Lanes(NetworkLock(2), lambda _, items: list(items), all_of, 0.0, lambda _: 2)
    with ExitStack() as firsts, ExitStack() as seconds:
        first, second = firsts.enter_context(lanes.lane()), seconds.enter_context(lanes.lane())
        assert first is not second
        assert firsts.enter_context(lanes.lane()) is first
        assert seconds.enter_context(lanes.lane()) is second
        firsts.close()
        with lanes.lane() as again:
            assert again is first


def test_without_a_core_of_its_own_a_lane_is_closed_to_those_who_come() -> None:
    lock = NetworkLock(2)
    asked: list[Collection[object]] = []
    left = iter((2, 2, 1, 1))

    def cores_left(turns: Collection[object]) -> int:
        asked.append(turns)
        return next(left)

    lanes: Lanes[int, int] = Lanes(lock, lambda _, items: list(items), all_of, 0.0, cores_left)
    with ExitStack() as callers:
        first, second = (callers.enter_context(lanes.lane()) for _ in range(2))
        assert first is not second
        assert [callers.enter_context(lanes.lane()) for _ in range(2)] == [first, first]
    assert all(set(turns) == {lock, *lock.lanes} for turns in asked)


def test_whoever_has_the_whole_lock_waits_for_every_lane_and_every_lane_for_it() -> None:
    lock = NetworkLock(2)
    for lane in lock.lanes:
        with lane:
            assert not is_free(lock)
    assert is_free(lock)
    with lock, lock:
        assert not is_free(lock)
    assert is_free(lock)


def test_a_model_that_is_loaded_after_a_pass_of_one_thread_has_its_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", Cores(4, lambda: Used(0.0, 0.0)))
    with fair_share("a network", exactly=1):
        assert torch.get_num_threads() == 1
    assert lanes_of_a_small_network() == MOST_LANES
    monkeypatch.setattr(threads, "_cores", Cores(1, lambda: Used(0.0, 0.0)))
    assert lanes_of_a_small_network() == 1


def test_the_lock_is_free_again_after_an_error() -> None:
    lock = NetworkLock(2)
    with pytest.raises(ValueError, match="broken"), lock:
        raise ValueError("broken")
    assert is_free(lock)


def test_a_single_lane_is_the_turn_of_all_passes() -> None:
    lock = NetworkLock()
    held: list[AbstractContextManager[object]] = []

    def work(lane: AbstractContextManager[object], items: Sequence[int]) -> list[int]:
        held.append(lane)
        return list(items)

    with Lanes[int, int](lock, work, all_of, 0.0).lane() as shared:
        shared(1)
    assert held == [lock]


@pytest.mark.parametrize("by_itself", [False, True])
def test_whoever_is_alone_has_the_whole_lock(by_itself: bool) -> None:
    lock = NetworkLock(2)
    held: list[AbstractContextManager[object]] = []

    def work(lane: AbstractContextManager[object], items: Sequence[int]) -> list[int]:
        held.append(lane)
        return list(items)

    lanes: Lanes[int, int] = Lanes(lock, work, all_of, 0.0)
    with lanes.lane() as shared:
        if by_itself:
            with alone():
                shared(1)
        else:
            shared(1)
    assert held == [lock if by_itself else lock.lanes[0]]


@pytest.mark.parametrize("lean", [False, True])
@torch.inference_mode()
def test_only_what_is_known_to_bear_it_is_read_beside_another_pass(lean: bool) -> None:
    network: Any = gpt2(scale_attn_by_inverse_layer_idx=not lean)
    lock = NetworkLock(2)
    steps = Steps(lock, small=True)
    state = DecoderState(network, torch.tensor([[3, 4, 5]]), steps)
    with ThreadPoolExecutor(1) as pool, lock.lanes[1]:
        reading = pool.submit(steps.result, state.next_best())
        if lean:
            assert reading.result(_LONG_S).logits.shape == (1, 50)
        else:
            with pytest.raises(TimeoutError):
                reading.result(_SHORT_S)
    assert reading.result(_LONG_S).logits.shape == (1, 50)
