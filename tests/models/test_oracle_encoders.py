"""Filling blanks, sentiment, question answering and names equal plain transformers."""

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import pipeline

from models.registry import Task
from models.tasks.base import AnyTaskModel, Calibration
from models.tasks.question_answering import MAX_ANSWER_TOKENS
from models.tasks.token_classification import class_of
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.plain import plain_tokenizer

TEXTS = ("The keeper [MASK] the lamp.", "[MASK] bread is sold, and [MASK] apples are not!", "😀 l'[MASK] — ça va?")
CONTEXT = "The old keeper lit the lamp at seven. A storm came over the hills, and Ada's boats turned home."


def models_of(task: Task, name: str) -> pytest.MarkDecorator:
    """Every architecture that fits `task`, with random weights, and the bundled checkpoint `name`."""
    return pytest.mark.parametrize("which", [(task, each) for each in (*FITTING[task], name)], ids=str)


@pytest.fixture
def model(which: tuple[Task, str], tiny: TinyModel, bundled: BundledModel) -> AnyTaskModel:
    task, name = which
    return tiny(name, task) if name in FITTING[task] else bundled(name)


@pytest.mark.parametrize("text", TEXTS)
@models_of(Task.FILL_MASK, "clearhead-minilm")
def test_filled_blanks_equal_the_pipeline(model: AnyTaskModel, text: str) -> None:
    plain = pipeline("fill-mask", model=model.network, tokenizer=plain_tokenizer(model))
    theirs = plain(text.replace("[MASK]", model.tokenizer.settings.mask_token), top_k=5)
    theirs = [theirs] if isinstance(theirs[0], dict) else theirs
    ours = model(text=text, top_k=5).predictions
    assert len(ours) == len(theirs) == text.count("[MASK]")
    for mine, others in zip(ours, theirs, strict=True):
        assert [each.score for each in mine] == pytest.approx([other["score"] for other in others], rel=1e-4)
        for each, other in zip(mine, others, strict=True):
            # A piece of a character has no text of its own; the pipeline shows the sign for broken text.
            if "\ufffd" not in other["token_str"]:
                assert each.text == other["token_str"].strip()


@pytest.fixture
def uncalibrated(model: AnyTaskModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network says nothing of its calibration, which has tests of its own."""
    monkeypatch.setattr(model, "settings", replace(model.settings, calibration=Calibration()))


@pytest.mark.parametrize("text", ["She reads a quiet book.", "rain, rain … 😀", "no " * 30])
@models_of(Task.SENTIMENT, "clearhead-sentiment")
def test_sentiment_equals_the_pipeline(model: AnyTaskModel, uncalibrated: None, text: str) -> None:
    plain = pipeline("text-classification", model=model.network, tokenizer=plain_tokenizer(model), top_k=None)
    (scores,) = plain([text])
    theirs = {each["label"].lower(): each["score"] for each in scores}
    assert {each.text: each.score for each in model(text=text).scores} == pytest.approx(theirs, rel=1e-4)


def whole_words(start: int, end: int) -> bool:
    """Whether no letter or digit of the text stands right before or right behind these characters of a word."""
    return not any(re.fullmatch(r"[^\W_]{2}", CONTEXT[max(0, edge - 1) : edge + 1]) for edge in (start, end))


@pytest.mark.parametrize("question", ["Who lit the lamp?", "When?", "Whose boats turned home?"])
@models_of(Task.QUESTION_ANSWERING, "clearhead-qa")
def test_answers_equal_trying_every_span(model: AnyTaskModel, uncalibrated: None, question: str) -> None:
    encoded = plain_tokenizer(model)(question, CONTEXT, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        logits = model.network(**encoded)
    starts, ends = logits.start_logits[0].double().numpy(), logits.end_logits[0].double().numpy()
    inside = [position for position, side in enumerate(encoded.sequence_ids(0)) if side == 1]
    spans = {
        (start, end): float(np.exp(starts[start] + ends[end]))
        for start in inside
        for end in inside
        if start <= end < start + MAX_ANSWER_TOKENS and whole_words(offsets[start][0], offsets[end][1])
    }
    cls = encoded.input_ids[0].tolist().index(model.tokenizer.settings.cls_token_id)
    none = float(np.exp(starts[cls] + ends[cls]))
    total = sum(spans.values()) + none

    output = model(question=question, context=CONTEXT)
    # Pieces that differ by a space are the same place, and its spans are added up.
    places: dict[tuple[int, int], float] = defaultdict(float)
    for (start, end), weight in spans.items():
        text = CONTEXT[offsets[start][0] : offsets[end][1]]
        if text.strip():
            left, right = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
            places[offsets[start][0] + left, offsets[end][1] - right] += weight
    best, weight = max(places.items(), key=lambda each: each[1])
    assert (output.answers[0].start, output.answers[0].end) == best
    assert output.answers[0].text == CONTEXT[slice(*best)]
    assert output.answers[0].score == pytest.approx(weight / total, rel=1e-3)
    assert output.no_answer_score == pytest.approx(none / total, rel=1e-3)
    eligible = [*inside, cls]
    for logits_of, ours in ((starts, output.start_probabilities), (ends, output.end_probabilities)):
        weights = np.exp(logits_of[eligible])
        np.testing.assert_allclose(np.array(ours)[eligible], weights / weights.sum(), rtol=1e-3)
        assert sum(ours) == pytest.approx(1)


@pytest.mark.parametrize("text", ["Ada Quist lives in Lisbon.", "the old-fashioned lamp of A.B. 😀", "home " * 30])
@models_of(Task.NAMES, "clearhead-names")
def test_labels_equal_the_pipeline(model: AnyTaskModel, text: str) -> None:
    plain = pipeline("token-classification", model=model.network, tokenizer=plain_tokenizer(model), ignore_labels=[])
    theirs = plain(text)
    output = model(text=text)
    # Where a tokenizer has no piece, the pipeline leaves the token out.
    ours = [each for each in output.labels if not each.token.special]
    theirs = [each for each in theirs if each["index"] in _places_of(model, text)]
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs, strict=True):
        best = int(np.argmax(mine.shares))
        assert output.classes[best] == class_of(other["entity"])
        assert mine.shares[best] == pytest.approx(float(other["score"]), abs=2e-6, rel=1e-4)


def _places_of(model: AnyTaskModel, text: str) -> set[int]:
    """The places of the tokens of `text` that are not special."""
    ids, special = plain_tokenizer(model)(text)["input_ids"], model.tokenizer.all_special_ids
    return {place for place, each in enumerate(ids) if each not in special}
