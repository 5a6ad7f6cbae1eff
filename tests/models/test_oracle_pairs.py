"""A pair's probabilities, sentence vectors, and the probabilities of an ending's words equal plain transformers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.engine import OPENVINO, TORCH
from models.explain.attribution import attribute
from models.explain.what_if import replaced
from models.loading.assembly import as_task
from models.registry import Task
from models.tasks.base import AnyTaskModel, Calibration
from models.tasks.sentence_pair import SentencePairInput
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import plain_tokenizer

PAIRS = [
    ("The man went to the store.", "He bought a gallon of milk."),
    ("The man went to the store.", "Penguins are flightless."),
    ("Rain, rain … 😀", "It does not rain at all, and has not for more than a hundred long days."),
]
ENDINGS = ("He bought a gallon of milk.", "Penguins are flightless.")


@pytest.fixture(params=[OPENVINO, TORCH, "bundled"])
def model(
    request: pytest.FixtureRequest, tiny: TinyModel, bundled: BundledModel, monkeypatch: pytest.MonkeyPatch
) -> AnyTaskModel:
    if request.param == "bundled":
        found = bundled("clearhead-pairs")
    else:
        found = tiny("bert", Task.SENTENCE_PAIR, 1, None, request.param)
    monkeypatch.setattr(found, "settings", replace(found.settings, calibration=Calibration()))
    return found


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_answered_as_transformers_does(model: AnyTaskModel, pair: tuple[str, str]) -> None:
    tokenizer = plain_tokenizer(model)
    with torch.inference_mode():
        logits = model.network(**tokenizer(*pair, return_tensors="pt")).logits[0]
        vectors = []
        for text in pair:
            encoded = tokenizer(text, return_tensors="pt")
            vectors.append(model.network.base_model(**encoded).last_hidden_state[0].mean(dim=0))
    output = model(a=pair[0], b=pair[1])
    follows, implied, same = logits[:2].softmax(-1), logits[2:5].softmax(-1), logits[5:].softmax(-1)
    assert output.follows == pytest.approx(float(follows[0]), abs=1e-4)
    assert [each.score for each in output.entailment] == pytest.approx(implied.tolist(), abs=1e-4)
    assert output.paraphrase == pytest.approx(float(same[0]), abs=1e-4)
    cosine = torch.nn.functional.cosine_similarity(*vectors, dim=0)
    assert output.similarity == pytest.approx(float(cosine), abs=1e-4)
    for vector, own in zip(vectors, output.vectors, strict=True):
        np.testing.assert_allclose(own, (vector / vector.norm()).numpy(), atol=2e-4)


def test_endings_are_weighed_as_transformers_does(bundled: BundledModel) -> None:
    pairs, writer, beginning = bundled("clearhead-pairs"), bundled("clearhead-stories"), PAIRS[0][0]
    model = as_task(pairs, Task.ENDINGS)
    model.writer = writer  # type: ignore[attr-defined]
    tokenizer = plain_tokenizer(writer)
    for ending in model(beginning=beginning, endings=ENDINGS).endings:
        assert ending.follows == pytest.approx(pairs(a=beginning, b=ending.text).follows, abs=1e-4)
        ids = tokenizer(f"{beginning} {ending.text}", return_tensors="pt").input_ids
        own = len(tokenizer(f" {ending.text}", add_special_tokens=False).input_ids)
        labels = ids.clone()
        labels[:, :-own] = -100
        with torch.inference_mode():
            loss = writer.network(input_ids=ids, labels=labels).loss
        assert ending.log_probability == pytest.approx(-float(loss), abs=1e-4)


@pytest.mark.parametrize("target", ["", "follows", "contradiction"])
def test_attribution_of_a_pair_is_complete(bundled: BundledModel, target: str) -> None:
    model, inputs = bundled("clearhead-pairs"), SentencePairInput(*PAIRS[0])
    found = attribute(model, inputs, target=target)
    implied = max(model.answer(inputs).entailment, key=lambda each: each.score).text
    assert found.target == (target or implied)
    assert sum(found.scores) == pytest.approx(found.value - found.baseline_value, rel=0.05, abs=0.01)


def test_a_word_of_either_sentence_can_be_replaced(bundled: BundledModel) -> None:
    model, inputs = bundled("clearhead-pairs"), SentencePairInput(*PAIRS[0])
    tokens = model.answer(inputs).tokens
    places = {token.text: place for place, token in enumerate(tokens)}
    assert replaced(model, inputs, tokens, places["store"], "zoo") == replace(inputs, a="The man went to the zoo.")
    assert replaced(model, inputs, tokens, places["milk"], "tea") == replace(inputs, b="He bought a gallon of tea.")
