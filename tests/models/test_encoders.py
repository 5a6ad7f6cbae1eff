"""Texts that are read together are answered as each alone, whatever stands beside them."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch

from models.ablation import without
from models.base import AnyTaskModel
from models.batching import alone
from models.checkpoints import REGISTRY
from models.encoders import MOST_TOKENS, SHORT, EncoderModel, fitting
from models.findings import SwitchedOff
from models.loading import ModelStore
from models.outputs import MEAN
from models.precision import Precision, offered
from models.tasks import Task
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.test_precision import asked, first_answer, judged, masked

BUNDLED = {"clearhead-minilm": masked, "clearhead-sentiment": judged, "clearhead-qa": asked}
MANY = 12
MOST_MOVED_BY_NEIGHBOURS = 0.01
"""Of a probability, in bfloat16; its distance from float32 may be twice that (`test_precision.py`)."""

ENCODERS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING)
FIELDS: dict[Task, Sequence[dict[str, Any]]] = {
    Task.FILL_MASK: [
        {"text": text}
        for text in ("The keeper [MASK] the lamp.", "[MASK]!", "[MASK] bread is sold, and [MASK] apples are not.")
    ],
    Task.SENTIMENT: [{"text": text} for text in ("A quiet book.", "rain, rain, and no end of it", "Lovely")],
    Task.QUESTION_ANSWERING: [
        {"question": question, "context": context}
        for question, context in (
            ("Who lit the lamp?", "The old keeper lit the lamp at seven."),
            ("When?", "A storm came."),
            ("Whose boats?", "The lamp was lit. " * 12),
        )
    ],
}


def closest(mine: Any, other: Any) -> float:
    """The greatest difference between two outputs of a network."""
    if isinstance(mine, tuple):
        return max(closest(*pair) for pair in zip(mine, other, strict=True))
    return float(np.abs(np.asarray(mine) - np.asarray(other)).max())


def alike(mine: Any, other: Any, most: float) -> None:
    """Two answers of which the numbers differ by no more than `most`, and nothing else does."""
    if isinstance(mine, dict):
        assert mine.keys() == other.keys()
        for name in mine:
            alike(mine[name], other[name], most)
    elif isinstance(mine, tuple | list):
        assert len(mine) == len(other)
        for each, another in zip(mine, other, strict=True):
            alike(each, another, most)
    elif isinstance(mine, float):
        assert mine == pytest.approx(other, abs=most)
    else:
        assert mine == other


@contextmanager
def passes(model: AnyTaskModel) -> Iterator[list[int]]:
    """How many texts each pass has that begins while it is open."""
    sizes: list[int] = []
    assert isinstance(model, EncoderModel)
    work = model._shared._work

    def counted(batch: Sequence[Any]) -> Sequence[Any]:
        sizes.append(len(batch))
        return work(batch)

    model._shared._work = counted
    try:
        yield sizes
    finally:
        model._shared._work = work


def together(model: AnyTaskModel, fields: Sequence[dict[str, Any]]) -> tuple[list[Any], list[int]]:
    """The answers to visitors who all come while the network is busy, and the sizes of the passes made for them."""
    with passes(model) as sizes, ThreadPoolExecutor(len(fields)) as pool:
        with model.lock:
            answers = [pool.submit(lambda each=each: model(**each)) for each in fields]  # type: ignore[misc]
            waits = threading.Event()
            while sum(sizes) + len(model._shared._waiting) < len(fields):
                waits.wait(0.001)
        return [answer.result() for answer in answers], sizes


@pytest.mark.parametrize(
    ("task", "architecture"), [(task, each) for task in ENCODERS for each in FITTING[task]], ids=str
)
def test_every_architecture_reads_a_text_beside_others_as_alone(tiny: TinyModel, task: Task, architecture: str) -> None:
    model = tiny(architecture, task)
    with torch.inference_mode():
        encoded = [model.preprocess(model.inputs_type(**fields)) for fields in FIELDS[task]]
        for order in (encoded, encoded[::-1]):
            for each, shared in zip(order, model.forward_all(order), strict=True):
                (own,) = model.forward_all([each])
                assert closest(*(_without_padding(model, each, raw) for raw in (shared, own))) < 1e-5


def _without_padding(model: AnyTaskModel, encoded: Any, raw: Any) -> Any:
    if model.checkpoint.task is not Task.QUESTION_ANSWERING:
        return raw
    windows = model.windows(encoded, raw)
    return tuple((each.start_logits, each.end_logits) for each in windows)


@pytest.mark.parametrize("name", list(BUNDLED))
def test_visitors_at_once_are_answered_as_each_alone(bundled: BundledModel, name: str) -> None:
    model = bundled(name)
    fields = [BUNDLED[name](number) for number in range(MANY)]
    answers, sizes = together(model, fields)
    assert len(sizes) < MANY
    for each, answer in zip(fields, answers, strict=True):
        alike(asdict(answer), asdict(model(**each)), 1e-5)


@pytest.mark.skipif(Precision.BFLOAT16 not in offered(writes=False), reason="this processor is not offered bfloat16")
@pytest.mark.parametrize("name", list(BUNDLED))
def test_rounded_numbers_hardly_depend_on_the_neighbours(name: str) -> None:
    """Attention beside padding adds up in another order, and the next rounding may then fall to the other side."""
    model = ModelStore(precision="bfloat16").load(REGISTRY[name])
    moved = []
    for first in range(0, 8 * MANY, MANY):
        fields = [BUNDLED[name](number) for number in range(first, first + MANY)]
        answers, sizes = together(model, fields)
        assert len(sizes) < MANY
        for each, answer in zip(fields, answers, strict=True):
            chosen, shown = first_answer(answer)
            chosen_alone, shown_alone = first_answer(model(**each))
            assert chosen == chosen_alone
            moved.append(max(abs(shown[token] - shown_alone[token]) for token in shown.keys() & shown_alone.keys()))
    assert max(moved) <= MOST_MOVED_BY_NEIGHBOURS
    assert np.mean(moved) <= MOST_MOVED_BY_NEIGHBOURS / 10


@pytest.mark.parametrize("precision", offered(writes=False))
@pytest.mark.parametrize("name", list(BUNDLED))
def test_beside_texts_of_its_length_every_bit_is_the_same(precision: Precision, name: str) -> None:
    model = ModelStore(precision=precision).load(REGISTRY[name])
    with torch.inference_mode():
        encoded = [model.preprocess(model.inputs_type(**BUNDLED[name](number))) for number in range(8 * MANY)]
        lengths = [each.inputs["input_ids"].shape[1] for each in (model.padded([one]) for one in encoded)]
        alike_long = [each for each, length in zip(encoded, lengths, strict=True) if length == lengths[0]][:4]
        assert len(alike_long) > 1
        # Tiles of bfloat16 (AMX) are added up in another order where there are more rows of them.
        by_rows = precision == Precision.BFLOAT16 and torch.cpu._is_amx_tile_supported()
        for each, shared in zip(alike_long, model.forward_all(alike_long), strict=True):
            (by_itself,) = model.forward_all([each])
            largest = max(float(np.abs(np.asarray(part)).max()) for part in by_itself) if by_rows else 0.0
            assert closest(shared, by_itself) <= 2**-7 * largest


def test_a_text_of_another_length_does_not_share_and_a_pass_is_bounded() -> None:
    assert fitting([(1, 10), (1, SHORT), (1, 12)]) == [0, 1, 2]
    assert fitting([(1, 100), (1, 40), (1, 60), (1, 300)]) == [0, 2]
    assert fitting([(1, 40)] * 20) == list(range(MOST_TOKENS // 40))
    # What is too long for company is read alone, and nobody waits for it forever.
    assert fitting([(3, 384), (1, 384)]) == [0]
    assert fitting([(1, 384)]) == [0]


@pytest.mark.parametrize("name", list(BUNDLED))
def test_attention_is_captured_alone_while_others_are_answered(bundled: BundledModel, name: str) -> None:
    model = bundled(name)
    fields = [BUNDLED[name](number) for number in range(MANY)]
    quiet = [model.attend(model.inputs_type(**each)) for each in fields]
    plain = [asdict(model(**each)) for each in fields]

    def look(number: int) -> None:
        seen = model.attend(model.inputs_type(**fields[number]))
        for kind, attention in quiet[number].items():
            np.testing.assert_array_equal(seen[kind].weights, attention.weights)

    def ask(number: int) -> None:
        alike(asdict(model(**fields[number])), plain[number], 1e-5)

    _all_at_once([look, ask], range(MANY))


@pytest.mark.parametrize("name", list(BUNDLED))
def test_a_head_that_one_visitor_switches_off_is_on_for_all_others(bundled: BundledModel, name: str) -> None:
    model = bundled(name)
    fields = [BUNDLED[name](number) for number in range(MANY)]
    off = SwitchedOff("encoder", 2, MEAN)
    plain = [asdict(model(**each)) for each in fields]

    def silenced(number: int) -> dict[str, Any]:
        with without(model, off):
            return asdict(model(**fields[number]))

    changed = [silenced(number) for number in range(MANY)]
    assert all(each != other for each, other in zip(plain, changed, strict=True))

    def switch_off(number: int) -> None:
        alike(silenced(number), changed[number], 1e-5)

    def ask(number: int) -> None:
        alike(asdict(model(**fields[number])), plain[number], 1e-5)

    _all_at_once([switch_off, ask], range(MANY))


def test_whoever_is_alone_shares_no_pass(bundled: BundledModel) -> None:
    model = bundled("clearhead-sentiment")

    def by_itself(number: int) -> None:
        with alone():
            model(**judged(number))

    with passes(model) as sizes:
        _all_at_once([by_itself], range(MANY))
    assert sizes == [1] * MANY


def _all_at_once(works: Sequence[Callable[[int], None]], numbers: Sequence[int]) -> None:
    with ThreadPoolExecutor(len(works) * len(numbers)) as pool:
        for done in [pool.submit(work, number) for number in numbers for work in works]:
            done.result()
