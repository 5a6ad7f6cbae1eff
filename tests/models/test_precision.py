"""Answers computed in 16 bits are those of float32, and attention is exact in every precision."""

import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from models.engine import AUTO, FLOAT32, EngineSettings
from models.loading.store import ModelStore
from models.outputs.base import TaskOutput
from models.outputs.encoders import (
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.writing import CompletionOutput, TranslationOutput, generated_ids
from models.registry import REGISTRY
from models.tasks.base import AnyTaskModel
from tests.models.conftest import BundledModel

COUNT = 100
MOST_MOVED = 0.02
TIE = 0.01
"""Between answers whose exact probabilities are nearer than this, rounding may choose either."""

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
_CALLED = ("Anna", "Jim Henson", "Mrs Novak", "The Red Cross", "Nobody", "A Frenchman", "Peter and Maria", "Siemens")
_NEAR = ("in Lisbon", "near Lake Geneva", "with Ivan", "for Nokia", "in a small town", "on the Rhine", "in Japan")
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


def named(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    return {"text": f"{chance.choice(_CALLED)} {chance.choice(_DID)} {chance.choice(_NEAR)} {chance.choice(_WHEN)}."}


def first_answer(output: TaskOutput) -> tuple[object, dict[object, float]]:
    """What is shown first, and the probabilities that are shown."""
    match output:
        case FillMaskOutput():
            return output.predictions[0][0].text, {each.text: each.score for each in output.predictions[0]}
        case SentimentOutput():
            return output.label, {each.text: each.score for each in output.scores}
        case SentencePairOutput():
            shares = {each.text: each.score for each in output.entailment}
            shares |= {"follows": output.follows, "paraphrase": output.paraphrase, "cosine": output.similarity}
            return max(output.entailment, key=lambda each: each.score).text, shares
        case QuestionAnsweringOutput():
            best = output.answers[0]
            answer = (best.start, best.end) if output.answered else None
            return answer, {(best.start, best.end): best.score, None: output.no_answer_score}
        case NamesOutput():
            word, kinds = output.decisive, output.kinds_of(output.decisive)
            shares = {f"{word.word}: {kind}": share for kind, share in kinds.items()}
            return max(shares, key=shares.__getitem__), shares
        case CompletionOutput() | TranslationOutput():
            first = output.generated[0]
            return first.token.id, {each.id: each.score for each in first.alternatives}
    raise TypeError(f"nothing is known of {type(output).__name__}")


INPUTS: Mapping[str, tuple[Callable[[int], dict[str, Any]], float]] = {
    "clearhead-minilm": (masked, 0.99),
    "clearhead-sentiment": (judged, 0.99),
    "clearhead-qa": (asked, 0.99),
    "clearhead-names": (named, 0.99),
    "clearhead-pairs": (lambda number: {"a": plain(number), "b": plain(number % 7)}, 0.99),
    "clearhead-en-fr": (lambda number: {"text": plain(number), "num_beams": 1}, 0.995),
    "clearhead-stories": (
        lambda number: {"prompt": plain(number)[:-1], "max_new_tokens": 1, "strategy": "greedy"},
        0.995,
    ),
}
"""For each bundled checkpoint its inputs, and the share of first answers that must agree."""


@pytest.fixture(scope="module")
def rounded() -> Callable[[str], AnyTaskModel]:
    store = ModelStore(engine=EngineSettings(AUTO, AUTO))
    return lambda name: store.load(REGISTRY[name])


@pytest.mark.parametrize("name", list(INPUTS))
def test_first_answers_and_probabilities_stay(rounded: Callable[[str], AnyTaskModel], name: str) -> None:
    """As the page computes them by itself, against transformers in float32."""
    made, share = INPUTS[name]
    model = rounded(name)
    agreed, moved, changed = 0, 0.0, 0
    for number in range(COUNT):
        exact, shown = first_answer(model.exact(**made(number)))
        quick, shown_quick = first_answer(model(**made(number)))
        agreed += exact == quick or shown[exact] - shown.get(quick, 0.0) < TIE
        changed += shown != shown_quick
        moved = max([moved, *(abs(shown[each] - shown_quick[each]) for each in shown.keys() & shown_quick.keys())])
    assert model.identity.engine != model.exact.identity.engine, "it was computed twice the same way"
    # A processor without bfloat16 rounds nothing in encoders.
    assert model.identity.precision == FLOAT32 or changed > COUNT / 2, "nothing was rounded"
    assert agreed >= share * COUNT
    assert moved <= MOST_MOVED


@pytest.mark.parametrize("name", list(INPUTS))
def test_attention_is_exact_in_every_precision(
    bundled: BundledModel, rounded: Callable[[str], AnyTaskModel], name: str
) -> None:
    made, _ = INPUTS[name]
    for number in range(3):
        written = generated_ids(bundled(name)(**made(number))) if REGISTRY[name].task.writes else ()
        exact, seen = (
            model(name).attend(model(name).inputs_type(**made(number)), written) for model in (bundled, rounded)
        )
        assert exact.keys() == seen.keys()
        for kind, attention in exact.items():
            np.testing.assert_allclose(seen[kind].weights, attention.weights, atol=1e-5)


def test_engine_and_precision_are_named_on_the_answer(
    bundled: BundledModel, rounded: Callable[[str], AnyTaskModel]
) -> None:
    from models.engine.openvino import rounds_quickly

    reads = "bfloat16" if rounds_quickly() else "float32"
    for model, reading, writing in ((bundled, "float32", "float32"), (rounded, reads, "float16")):
        for name, precision in (("clearhead-sentiment", reading), ("clearhead-en-fr", writing)):
            used = model(name)(text="A film.").checkpoint
            assert (used.engine, used.precision) == ("openvino", precision)
    used = bundled("clearhead-sentiment").exact(text="A film.").checkpoint
    assert (used.engine, used.precision) == ("torch", "float32")
