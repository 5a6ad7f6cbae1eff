"""A tiny model learns a text by heart, ends in time, can be stopped, and leaves nothing in memory."""

import math
import time

import pytest
import torch

from models import load_model
from models.cancellation import only_while
from models.engine.tiny_decoder import Network, longest_copy, made, measured
from models.errors import InputError, Stopped
from models.outputs.training import TinyModelOutput
from models.tasks import tiny_model
from models.tasks.tiny_model import TinyModel, TinyModelInput

TEXT = "The wind blew, and the red boat sailed far out on the lake. The wind slept, and the red boat slept too. " * 3


@pytest.fixture(scope="module")
def model() -> TinyModel:
    found = load_model("tiny_model")
    assert isinstance(found, TinyModel)
    return found


def test_it_begins_as_a_guess_and_ends_knowing_its_text(model: TinyModel) -> None:
    outputs = list(model.stream(TinyModelInput(TEXT, steps=120)))
    first, last = outputs[0], outputs[-1]
    assert first.course[0].loss == pytest.approx(math.log(len(first.alphabet)), abs=0.8)
    assert last.course[-1].right > 0.9 and last.course[-1].loss < 0.5
    assert [each.finished for each in outputs] == [False] * (len(outputs) - 1) + [True]
    steps = [each.step for each in last.course]
    assert steps == sorted(set(steps)) and (steps[0], steps[-1]) == (0, 120)
    assert last.copied == longest_copy(last.samples[-1].text, TEXT) > 10
    assert last.read + last.kept == len(TEXT)
    assert last.parameters == sum(each.numel() for each in Network(len(last.alphabet)).parameters())


def test_the_same_seed_learns_the_same_and_another_does_not(model: TinyModel) -> None:
    torch.manual_seed(5)
    once = model(text=TEXT, steps=5, seed=1)
    torch.manual_seed(6)
    assert model(text=TEXT, steps=5, seed=1) == once, "whatever others draw meanwhile"
    assert model(text=TEXT, steps=5, seed=2).samples != once.samples


def test_every_character_is_measured_once_with_what_stands_before_it() -> None:
    network = made(5, torch.Generator().manual_seed(0))
    ids = torch.randint(5, (150,), generator=torch.Generator().manual_seed(1))
    found = measured(network, ids, 120, 20, 0)
    # Windows begin every 10 characters; each counts what the one before it has not foreseen.
    counted, losses = 0, []
    with torch.no_grad():
        for start in [*range(0, 129, 10), 129]:
            logs = network(ids[None, start : start + 20])[0].log_softmax(dim=-1)
            for place in range(counted + 1, start + 21):
                losses.append(-float(logs[place - 1 - start, ids[place]]))
            counted = start + 20
    assert found.loss == pytest.approx(sum(losses[:119]) / 119, abs=1e-4)
    assert found.kept_out == pytest.approx(sum(losses[119:]) / 30, abs=1e-4)


def test_it_ends_in_time_and_when_nobody_waits(model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_model, "MOST_S", 0.5)
    started = time.monotonic()
    output = model(text=TEXT, steps=800)
    assert output.finished and output.steps < 800 and time.monotonic() - started < 5
    with pytest.raises(Stopped), only_while(lambda: False):
        model(text=TEXT)


def test_nothing_of_it_is_held(model: TinyModel) -> None:
    model(text=TEXT, steps=1)
    assert vars(model) == {"checkpoint": model.checkpoint} and model.held_bytes == 0


@pytest.mark.parametrize("text", ["🦊 " * 60, "שלום " * 30, "a" * 100, "\n\n" + "ab " * 40, "x" * 1999 + "y"])
def test_any_text_of_that_length_can_be_learned(model: TinyModel, text: str) -> None:
    output: TinyModelOutput = model(text=text, steps=2)
    assert output.finished and set(output.samples[-1].text) <= set(text)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": "too short"}, "text"),
        ({"text": "x" * 2001}, "text"),
        ({"text": " " * 200}, "text"),
        ({"text": TEXT, "steps": 0}, "steps"),
        ({"text": TEXT, "steps": 801}, "steps"),
        ({"text": TEXT, "seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_a_sentence(model: TinyModel, fields: dict, field: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError) as refused:
        model(**fields)
    assert refused.value.field == field
