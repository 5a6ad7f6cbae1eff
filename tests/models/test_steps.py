"""Texts that are written at the same time are each written as if alone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch import Tensor

from models.checkpoints import REGISTRY
from models.errors import Stopped
from models.lean import lean_reader
from models.loading import ModelStore
from models.precision import Precision, offered
from models.stopping import only_while
from models.tasks import Task
from models.text_generation import TextGeneration
from tests.models.conftest import BundledModel, TinyModel
from tests.models.test_encoders import alike
from tests.models.test_lean import gpt2, marian, source_of
from tests.models.test_precision import MOST_MOVED, plain

VISITORS = 6


def completion(number: int) -> dict[str, Any]:
    strategy = ("greedy", "sample", "beam")[number % 3]
    prompt = " ".join(plain(each)[:-1] for each in range(number, number + 1 + number % 2))
    return {"prompt": prompt, "max_new_tokens": 12 + number, "strategy": strategy, "num_beams": 3, "seed": number}


def translation(number: int) -> dict[str, Any]:
    return {"text": plain(number), "num_beams": 1 + number % 4}


WRITTEN = {"clearhead-stories": completion, "clearhead-en-fr": translation}


def read_together(readers: list[Any], ids: list[Tensor], wanted: list[int]) -> Any:
    """What each reads, in one pass."""
    return type(readers[0]).read_together(readers, ids, wanted)


def nearly_all_alike(answers: list[dict[str, Any]], alone: list[dict[str, Any]]) -> None:
    """All texts but one at most are the same: beside others numbers are rounded elsewhere, none further than alone."""

    def written(answer: dict[str, Any]) -> list[int]:
        return [step["token"]["id"] for step in answer["generated"]]

    same = [(each, other) for each, other in zip(answers, alone, strict=True) if written(each) == written(other)]
    assert len(same) >= len(alone) - 1
    for each, other in same:
        for mine, theirs in zip(each["generated"], other["generated"], strict=True):
            assert mine["probability"] == pytest.approx(theirs["probability"], abs=MOST_MOVED)


@pytest.mark.parametrize("precision", offered(writes=True))
@pytest.mark.parametrize("name", list(WRITTEN))
def test_writers_at_once_write_what_each_writes_alone(name: str, precision: Precision) -> None:
    model, made = ModelStore(precision=precision).load(REGISTRY[name]), WRITTEN[name]
    alone = [asdict(model(**made(number))) for number in range(VISITORS)]
    sizes: list[int] = []
    lanes = model._steps._lanes  # type: ignore[attr-defined]
    work = lanes._work

    def counted(lane: Any, batch: Any) -> Any:
        sizes.append(len(batch))
        return work(lane, batch)

    lanes._work = counted
    with ThreadPoolExecutor(VISITORS) as pool:
        for _ in range(2):
            answers = list(pool.map(lambda number: asdict(model(**made(number))), range(VISITORS)))
            if precision == Precision.FLOAT32:
                for answer, by_itself in zip(answers, alone, strict=True):
                    alike(answer, by_itself, 1e-5)
            else:
                nearly_all_alike(answers, alone)
    assert max(sizes) > 1


WRITERS = 8


def exactly(number: int) -> dict[str, Any]:
    """Texts of several lengths: all strategies, and prompts that many threads would share among them."""
    strategy = ("sample", "greedy", "beam")[number % 3]
    prompt = " ".join(plain(each) for each in range(number, number + 1 + 2 * (number == 1)))
    return {"prompt": prompt, "max_new_tokens": 24, "strategy": strategy, "num_beams": 3, "seed": number, "top_p": 1.0}


@pytest.mark.parametrize("name", ["clearhead-stories", "clearhead-en-fr", "tiny GPT-2"])
def test_a_text_is_the_same_to_its_last_digit_whoever_else_writes(
    name: str, tiny: TinyModel, bundled: BundledModel
) -> None:
    model = tiny("gpt2", Task.COMPLETION) if name.startswith("tiny") else bundled(name)
    made = translation if name == "clearhead-en-fr" else exactly
    alone = [asdict(model(**made(number))) for number in range(WRITERS)]
    streamed = isinstance(model, TextGeneration)

    def write(number: int) -> dict[str, Any]:
        if streamed and number % 2:
            *_, last = model.stream(model.inputs_type(**made(number)))
            return asdict(last)
        return asdict(model(**made(number)))

    for _ in range(3):
        together = threading.Barrier(WRITERS)

        def begin(number: int, together: threading.Barrier = together) -> dict[str, Any]:
            together.wait(20)
            return write(number)

        with ThreadPoolExecutor(WRITERS) as pool:
            assert list(pool.map(begin, range(WRITERS))) == alone


@pytest.mark.parametrize(
    "network", [gpt2(), gpt2(activation_function="relu"), marian()], ids=["gpt2", "relu", "marian"]
)
@torch.inference_mode()
def test_texts_of_any_size_are_read_together_as_apart(network: Any) -> None:
    chance = torch.Generator().manual_seed(0)
    beginnings = [torch.randint(1, 50, size, generator=chance) for size in ((1, 7), (3, 1), (2, 90), (1, 1))]
    apart, joint = ([lean_reader(network, source_of(network)) for _ in beginnings] for _ in range(2))

    def same(ids: list[Tensor]) -> None:
        wanted = [min(number + 1, each.shape[1]) for number, each in enumerate(ids)]
        together = read_together(joint, ids, wanted)
        for reader, mine, behind, shared in zip(apart, ids, wanted, together, strict=True):
            torch.testing.assert_close(shared.logits, reader.read(mine, behind).logits, atol=1e-5, rtol=1e-5)

    same(beginnings)
    for step in range(4):
        sizes = [(len(each), 1 + step * number) for number, each in enumerate(beginnings)]
        same([torch.randint(1, 50, size, generator=chance) for size in sizes])


@pytest.mark.parametrize("network", [gpt2(), marian()], ids=["gpt2", "marian"])
@torch.inference_mode()
def test_a_pass_that_breaks_at_its_end_has_read_nothing(network: Any) -> None:
    begun, next_ids = torch.tensor([[3, 4, 5]]), torch.tensor([[6]])
    readers = [lean_reader(network, source_of(network)) for _ in range(3)]
    for reader in readers:
        reader.read(begun)
    (expected,) = read_together(readers[:1], [next_ids], [1])

    weight = network.lm_head.weight
    network.lm_head.weight = torch.nn.Parameter(weight[:, :1])
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        read_together(readers[1:], [next_ids, next_ids], [1, 1])
    network.lm_head.weight = weight
    for best in read_together(readers[1:], [next_ids, next_ids], [1, 1]):
        torch.testing.assert_close(best.logits, expected.logits, atol=1e-5, rtol=1e-5)


def test_whoever_leaves_while_others_write_stops_alone() -> None:
    model = ModelStore().load(REGISTRY["clearhead-stories"])
    assert isinstance(model, TextGeneration)
    alone = [asdict(model(**completion(number))) for number in range(VISITORS)]

    def write(number: int) -> dict[str, Any] | None:
        steps = iter(range(4))
        try:
            with only_while(lambda: number % 2 == 0 or next(steps, None) is not None):
                return asdict(model(**completion(number)))
        except Stopped:
            return None

    with ThreadPoolExecutor(VISITORS) as pool:
        answers = list(pool.map(write, range(VISITORS)))
    for number, answer in enumerate(answers):
        if number % 2:
            assert answer is None
        else:
            alike(answer, alone[number], 1e-5)
