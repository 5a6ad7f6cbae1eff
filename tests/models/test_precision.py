"""Every precision that is offered answers as float32 does, and whoever looks inside sees exact numbers."""

import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from models import near_products, precision, sizes
from models.base import AnyTaskModel
from models.checkpoints import REGISTRY
from models.loading import ModelStore
from models.near_products import Way
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    TranslationOutput,
    generated_ids,
)
from models.precision import AUTO, Precision, chosen, offered
from models.tasks import Task
from tests.models.conftest import BundledModel

COUNT = 500
MOST_MOVED = 0.02

_WHO = (
    "The old keeper",
    "My sister",
    "A tired nurse",
    "The small dog",
    "Our neighbour",
    "The new teacher",
    "Every child",
)
_DID = ("opened the door", "read a long letter", "sold three apples", "lost the key", "painted the boat", "sang a song")
_WHERE = ("in the garden", "near the station", "behind the school", "at the market", "on the hill", "in the kitchen")
_WHEN = ("in the morning", "after the rain", "before dinner", "on Sunday", "last year", "every day")
_WHAT = ("The story", "The acting", "The music", "This film", "The ending", "The food")
_HOW = (
    "lovely",
    "dull",
    "clever",
    "far too long",
    "moving",
    "awful",
    "a quiet joy",
    "a waste of time",
    "not bad at all",
)
_ASKED = ("Who {}?", "Who was it that {}?")


_TOLD = random.Random(1).sample(
    list(product(_WHO, _DID, _WHERE, _WHEN)), len(_WHO) * len(_DID) * len(_WHERE) * len(_WHEN)
)
"""Who did what, where and when: every combination, in an order that is the same every time."""


def plain(number: int) -> str:
    return " ".join(_TOLD[number]) + "."


def masked(number: int) -> dict[str, Any]:
    words = plain(number).removesuffix(".").split()
    words[random.Random(number).randrange(len(words))] = "[MASK]"
    return {"text": " ".join(words) + "."}


def judged(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    what, how, other = chance.choice(_WHAT), chance.choice(_HOW), chance.choice(_HOW)
    return {"text": f"{what} was {how}{chance.choice((', and', ', but'))} {chance.choice(_WHAT).lower()} was {other}."}


def asked(number: int) -> dict[str, Any]:
    # Each deed is told once: of two the model could not say which is meant, and a breath would decide.
    deeds = random.Random(number).sample(_DID, 3)
    told = [next(each for each in _TOLD[number:] + _TOLD if each[1] == deed) for deed in deeds]
    did = deeds[number % 3]
    return {
        "question": _ASKED[number % 2].format(did),
        "context": " ".join(" ".join(each) + "." for each in told),
        "top_k": 1,
    }


def first_answer(output: TaskOutput) -> tuple[object, dict[object, float]]:
    """What is shown first, and the probabilities that are shown."""
    match output:
        case FillMaskOutput():
            return output.predictions[0][0].text, {each.text: each.score for each in output.predictions[0]}
        case SentimentOutput():
            return output.label, {each.text: each.score for each in output.scores}
        case QuestionAnsweringOutput():
            best = output.answers[0]
            answer = (best.start, best.end) if output.answered else None
            return answer, {(best.start, best.end): best.score, None: output.no_answer_score}
        case CompletionOutput() | TranslationOutput():
            first = output.generated[0]
            return first.token.id, {each.id: each.score for each in first.alternatives}
    raise TypeError(f"nothing is known of {type(output).__name__}")


INPUTS: Mapping[str, tuple[Callable[[int], dict[str, Any]], float]] = {
    "clearhead-minilm": (masked, 0.99),
    "clearhead-sentiment": (judged, 0.99),
    "clearhead-qa": (asked, 0.99),
    "clearhead-en-fr": (lambda number: {"text": plain(number), "num_beams": 1}, 0.995),
    "clearhead-stories": (
        lambda number: {"prompt": plain(number)[:-1], "max_new_tokens": 1, "strategy": "greedy"},
        0.995,
    ),
}
"""For each bundled checkpoint its inputs, and the share of first answers that must agree."""


@pytest.fixture(scope="module")
def rounded() -> Callable[[str], AnyTaskModel]:
    store = ModelStore(precision="bfloat16")
    return lambda name: store.load(REGISTRY[name])


needs_rounding = pytest.mark.skipif(
    not all(len(offered(writes=writes)) > 1 for writes in (True, False)), reason="all is exact on this processor"
)


@needs_rounding
@pytest.mark.parametrize("name", list(INPUTS))
def test_first_answers_and_probabilities_stay(
    bundled: BundledModel, rounded: Callable[[str], AnyTaskModel], name: str
) -> None:
    made, share = INPUTS[name]
    agreed, moved, changed = 0, 0.0, 0
    for number in range(COUNT):
        exact, shown = first_answer(bundled(name)(**made(number)))
        quick, shown_quick = first_answer(rounded(name)(**made(number)))
        agreed += exact == quick
        changed += shown != shown_quick
        moved = max([moved, *(abs(shown[each] - shown_quick[each]) for each in shown.keys() & shown_quick.keys())])
    assert changed > COUNT / 2, "nothing was rounded"
    assert agreed >= share * COUNT
    assert moved <= MOST_MOVED


@needs_rounding
@pytest.mark.parametrize("name", list(INPUTS))
def test_attention_is_exact_in_every_precision(
    bundled: BundledModel, rounded: Callable[[str], AnyTaskModel], name: str
) -> None:
    made, _ = INPUTS[name]
    writes = REGISTRY[name].task in (Task.TRANSLATION, Task.COMPLETION)
    for number in range(3):
        written = generated_ids(bundled(name)(**made(number))) if writes else ()
        exact, seen = (
            model(name).attend(model(name).inputs_type(**made(number)), written) for model in (bundled, rounded)
        )
        for kind, attention in exact.items():
            np.testing.assert_allclose(seen[kind].weights, attention.weights, atol=1e-5)


@needs_rounding
@pytest.mark.parametrize("way", near_products.ways(), ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", ["clearhead-minilm", "clearhead-sentiment", "clearhead-qa"])
def test_attention_that_is_not_exact_since_a_network_is_large_is_near(
    monkeypatch: pytest.MonkeyPatch, bundled: BundledModel, name: str, way: type[Way]
) -> None:
    monkeypatch.setattr(sizes, "_LARGE", 0)
    monkeypatch.setattr(near_products, "ways", lambda: (way,))
    # Of its own: a network keeps its products.
    rounded = ModelStore(precision="bfloat16").load(REGISTRY[name])
    monkeypatch.setattr(rounded.network, "forward", lambda **_: pytest.fail("an exact pass"))
    made, _ = INPUTS[name]
    furthest = 0.0
    for number in range(COUNT):
        exact, seen = (
            model.attend(model.inputs_type(**made(number)))["encoder"].weights for model in (bundled(name), rounded)
        )
        furthest = max(furthest, float(np.abs(exact - seen).max()))
    assert 0 < furthest < 0.002


@needs_rounding
@pytest.mark.parametrize("name", list(INPUTS))
def test_whoever_is_looked_at_answers_as_quickly_as_before(
    monkeypatch: pytest.MonkeyPatch, rounded: Callable[[str], AnyTaskModel], name: str
) -> None:
    """transformers leaves hooks behind where it captured attention; they must not end the quick way of reading."""
    model, made = rounded(name), INPUTS[name][0]
    fields = made(1)
    output = model(**fields)
    model.attend(model.inputs_type(**fields), generated_ids(output) if hasattr(output, "generated") else ())
    monkeypatch.setattr(model.network, "forward", lambda **_: pytest.fail("a slow pass"))
    assert model(**made(2))


@needs_rounding
def test_the_precision_is_named_on_the_answer(bundled: BundledModel, rounded: Callable[[str], AnyTaskModel]) -> None:
    for model, reads, writes in ((bundled, "float32", "float32"), (rounded, "bfloat16", "float16")):
        assert model("clearhead-sentiment")(text="A film.").checkpoint.precision == reads
        assert model("clearhead-en-fr")(text="A film.").checkpoint.precision == writes


@pytest.mark.parametrize(
    ("knows_bfloat16", "setting", "reading", "writing"),
    [
        (True, AUTO, Precision.BFLOAT16, Precision.FLOAT16),
        (False, AUTO, Precision.FLOAT32, Precision.FLOAT16),
        (True, "float32", Precision.FLOAT32, Precision.FLOAT32),
        (True, "bfloat16", Precision.BFLOAT16, Precision.FLOAT16),
        (False, "bfloat16", Precision.BFLOAT16, Precision.FLOAT16),
    ],
)
def test_the_machine_chooses_unless_the_host_does(
    monkeypatch: pytest.MonkeyPatch, knows_bfloat16: bool, setting: str, reading: Precision, writing: Precision
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    monkeypatch.setattr(precision, "can_be_half", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: knows_bfloat16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert (chosen(setting, writes=False), chosen(setting, writes=True)) == (reading, writing)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    monkeypatch.setattr(precision, "can_be_half", lambda: False)
    assert {chosen(setting, writes=writes) for writes in (True, False)} == {Precision.FLOAT32}


def test_a_setting_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="no setting of the precision is called 'int4'"):
        chosen("int4", writes=True)


@needs_rounding
def test_of_two_tokens_that_are_nearly_equal_the_likelier_one_is_written(
    bundled: BundledModel, rounded: Callable[[str], AnyTaskModel]
) -> None:
    """Rounding might turn such a choice: of 500 prompts none goes the other way."""
    made, _ = INPUTS["clearhead-stories"]
    close = 0
    for number in range(COUNT):
        exact, shown = first_answer(bundled("clearhead-stories")(**made(number)))
        first, second = sorted(shown.values())[-1:-3:-1]
        if first / second < 1.02:
            close += 1
            assert first_answer(rounded("clearhead-stories")(**made(number)))[0] == exact
    assert close
