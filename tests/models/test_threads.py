"""A pass takes all cores when it is alone and fewer when others compute; what it computes stays the same."""

import threading

import pytest
import torch

from benchmarks.inputs import INPUTS
from models import threads
from models.checkpoints import find
from models.layout import quickly
from models.loading import ModelStore
from models.precision import AUTO
from models.threads import LONGEST_LOOK_S, STILL_THERE_S, Cores, Used, fair_share, used_now
from tests.models.conftest import BundledModel

CORES = 4


class Machine:
    """A clock and an operating system's count, set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.counted = Used(1000.0, 10.0)
        self.cores = Cores(CORES, lambda: self.counted, lambda: self.now_s)

    def passes(self, seconds: float, own: float = 0.0, foreign: float = 0.0) -> None:
        """Some time, in which this process and others kept so many cores busy."""
        self.now_s += seconds
        self.counted = Used(self.counted.all_s + seconds * (own + foreign), self.counted.own_s + seconds * own)

    def threads(self, turn: str = "one network") -> int:
        """What a pass is given now."""
        with self.cores.share(turn) as threads:
            return threads


def test_a_run_that_is_alone_has_every_core() -> None:
    machine = Machine()
    assert machine.threads() == CORES
    machine.passes(1.0, own=3.5)
    assert machine.threads() == CORES


def test_networks_that_compute_at_once_share_the_cores_and_one_that_is_done_leaves_its_share() -> None:
    machine = Machine()
    with machine.cores.share("one network") as threads:
        assert threads == CORES
        # A long pass is still under way.
        machine.passes(5.0, own=CORES)
        assert machine.threads("another") == CORES // 2
    assert machine.threads() == CORES // 2
    machine.passes(2 * STILL_THERE_S)
    assert machine.threads() == CORES


def test_visitors_of_one_network_take_turns_and_each_has_every_core() -> None:
    machine = Machine()
    seen: list[int] = []
    for each in [threading.Thread(target=lambda: seen.append(machine.threads())) for _ in range(3)]:
        each.start()
        each.join()
    assert seen == [CORES] * 3
    assert machine.threads("another") == CORES // 2


def test_what_other_programs_use_is_left_to_them_and_taken_back() -> None:
    machine = Machine()
    machine.passes(1.0, own=1.0, foreign=1.0)
    assert machine.threads() == CORES - 1
    machine.passes(1.0, own=0.2, foreign=9.0)
    assert machine.threads() == 1
    machine.passes(1.0, own=3.0, foreign=0.1)
    assert machine.threads() == CORES


def test_passes_of_one_network_side_by_side_have_the_cores_that_others_leave() -> None:
    machine, own = Machine(), ("a lane", "another lane")
    assert machine.cores.left_to(own) == CORES
    with machine.cores.share("a lane"), machine.cores.share("another lane"):
        assert machine.cores.left_to(own) == CORES
        with machine.cores.share("another network"):
            assert machine.cores.left_to(own) == CORES - 1
        assert machine.cores.left_to(own) == CORES - 1
    machine.passes(1.0, foreign=2.0)
    assert machine.cores.left_to(own) == CORES - 2
    machine.passes(1.0, foreign=9.0)
    assert machine.cores.left_to(own) == 1


def test_what_was_measured_over_an_hour_says_nothing_about_now() -> None:
    machine = Machine()
    machine.passes(LONGEST_LOOK_S + 1, foreign=3.0)
    assert machine.threads() == CORES


def test_the_operating_system_counts_what_this_process_uses() -> None:
    before = used_now()
    while used_now().own_s < before.own_s + 0.2:
        sum(range(10_000))
    after = used_now()
    assert after.all_s - before.all_s >= 0.9 * (after.own_s - before.own_s)


@pytest.mark.parametrize("checkpoint", ["clearhead-minilm", "clearhead-stories"])
def test_the_numbers_are_the_same_with_any_number_of_threads(bundled: BundledModel, checkpoint: str) -> None:
    model = bundled(checkpoint)
    ids = model.tokenizer("The keeper lit the lamp every evening. " * 8, return_tensors="pt")["input_ids"]
    logits = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        with torch.inference_mode(), quickly():
            logits.append(model.network(input_ids=ids).logits)
    torch.set_num_threads(1)
    assert torch.equal(logits[0], logits[1]) and torch.equal(logits[0], logits[2])


def test_the_calling_thread_is_given_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr(threads, "_cores", machine.cores)
    with fair_share("one network"):
        assert torch.get_num_threads() == CORES
        with fair_share("another"):
            assert torch.get_num_threads() == CORES // 2
    with fair_share("one network", exactly=1):
        assert torch.get_num_threads() == 1
    with fair_share("another"), fair_share("one network", exactly=CORES):
        assert torch.get_num_threads() == CORES
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("endpoint", "long"),
    [
        ("fill_mask", {}),
        ("sentiment", {}),
        ("question_answering", {}),
        ("translation", {"text": "a dog and " * 20}),
        ("completion", {"prompt": "a dog and " * 20}),
    ],
)
def test_an_answer_is_never_taken_for_several(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, long: dict[str, str]
) -> None:
    """No pass of an answer leaves a core to another one, nor does the next visitor's; short ones want one only."""
    cores = Cores(CORES, lambda: Used(0.0, 0.0))
    monkeypatch.setattr(threads, "_cores", cores)
    model = ModelStore(precision=AUTO).load(find(endpoint))
    taken: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 0)
    for _ in range(2):
        visitor = threading.Thread(target=lambda: model(**INPUTS[endpoint] | long))
        visitor.start()
        visitor.join()
    assert CORES in taken and set(taken) <= {CORES, 1}
