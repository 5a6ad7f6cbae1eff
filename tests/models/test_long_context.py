"""A context longer than the window is read in overlapping windows, and the best answer over all of them wins."""

import random
from dataclasses import replace

import numpy as np
import pytest

from models.registry import Task
from models.tasks.calibration import Calibration
from models.tasks.question_answering import QuestionAnswering, Window
from tests.models.architectures import FITTING
from tests.models.conftest import BundledModel, TinyModel
from tests.models.tiny_tokenizers import SENTENCES, WINDOW

EVERY = pytest.mark.parametrize("architecture", FITTING[Task.QUESTION_ANSWERING])
QUESTION = "Who lit the lamp?"


def long_context(seed: int, sentences: int = 40) -> str:
    """About five hundred words, different for each seed."""
    chance = random.Random(seed)
    return " ".join(chance.choice(SENTENCES) for _ in range(sentences))


@EVERY
def test_every_part_of_the_context_is_read(architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    context = long_context(0)
    encoded = model.preprocess(model.inputs_type(question=QUESTION, context=context))
    read = np.zeros(len(context), dtype=bool)
    for tokens in encoded.tokens:
        assert len(tokens) <= model.window
        for token in tokens:
            if token.start >= 0:
                read[token.start : token.end] = True
    assert all(read[position] or letter.isspace() for position, letter in enumerate(context))
    assert len(encoded.tokens) > 2


def _scores_of_places(window: Window) -> dict[tuple[int, int], float]:
    """The logarithm of the weight of each place `(start, end)` of the text that the window gives an answer at."""
    found: dict[tuple[int, int], float] = {}
    for first, more in np.argwhere(np.isfinite(window.span_scores)).tolist():
        place = (window.offsets[first][0], window.offsets[first + more][1])
        found[place] = float(np.logaddexp(found.get(place, -np.inf), window.span_scores[first, more]))
    return found


@EVERY
def test_the_best_answer_over_all_windows_wins(architecture: str, tiny: TinyModel) -> None:
    """Against reading each window alone and adding up the spans of the same characters, one by one."""
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    assert isinstance(model, QuestionAnswering)
    best_windows = set()
    for seed in range(6):
        context = long_context(seed)
        output = model(question=QUESTION, context=context)
        encoded = model.preprocess(model.inputs_type(question=QUESTION, context=context))
        scores = []
        for window in model.windows(encoded, model.forward(encoded)):
            scores.append(_scores_of_places(window))
        answer = output.answers[0]
        places = {place for each in scores for place in each}
        summed = {place: float(np.logaddexp.reduce([each.get(place, -np.inf) for each in scores])) for place in places}
        best_place = max(summed, key=summed.__getitem__)
        assert (answer.start, answer.end) == best_place
        best = int(np.argmax([each.get(best_place, -np.inf) for each in scores]))
        best_windows.add(best)
        assert output.windows == len(scores)
        assert output.tokens == encoded.tokens[best]
        assert context[answer.start : answer.end] == answer.text
        starts = [token.start for token in encoded.tokens[best] if token.start >= 0]
        assert min(starts) <= answer.start <= max(starts)
    assert best_windows != {0}


@EVERY
def test_padding_changes_no_window(architecture: str, tiny: TinyModel) -> None:
    """The last window is shorter than the others; alone it gives the same logits and the same attention."""
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    context = long_context(1)
    inputs = model.inputs_type(question=QUESTION, context=context)
    encoded = model.preprocess(inputs)
    last = model.windows(encoded, model.forward(encoded))[-1]
    ids = [token.id for token in encoded.tokens[-1]]
    assert len(ids) < len(encoded.tokens[0])
    alone = {name: model.tensor(numbers) for name, numbers in encoded.window(len(encoded.tokens) - 1).items()}
    plain = model.network(**alone)
    assert alone["input_ids"][0].tolist() == ids
    np.testing.assert_allclose(last.start_logits, plain.start_logits[0].detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(last.end_logits, plain.end_logits[0].detach().numpy(), atol=1e-4)
    assert last.cls == ids.index(model.tokenizer.cls_token_id)


@EVERY
def test_attention_is_that_of_the_window_with_the_best_answer(architecture: str, tiny: TinyModel) -> None:
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    in_the_last = 0
    for seed in range(12):
        # Two windows or three, so that the last, padded one holds the best answer now and then.
        context = long_context(seed, sentences=12 if model.window == WINDOW else 36)
        output = model(question=QUESTION, context=context)
        inputs = model.inputs_type(question=QUESTION, context=context)
        attention = model.attend(inputs)["encoder"]
        assert attention.query_tokens == output.tokens
        np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
        longest = max(len(tokens) for tokens in model.preprocess(inputs).tokens)
        in_the_last += len(output.tokens) < longest
    assert in_the_last


def test_the_bundled_model_finds_an_answer_in_a_later_window(bundled: BundledModel) -> None:
    model = bundled("clearhead-qa")
    filler = "The market opens at seven, and bread, cheese and apples are sold there until noon. " * 40
    context = filler + "The lighthouse was built by Matilda Okafor in 1871. " + filler
    output = model(question="Who built the lighthouse?", context=context)
    assert output.windows > 3
    assert output.answers[0].text == "Matilda Okafor"
    assert context[output.answers[0].start : output.answers[0].end] == "Matilda Okafor"


def test_one_answer_in_two_windows_has_the_probability_of_both(
    bundled: BundledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worked example: plain transformers gives the answer 0.136 in one window and 0.295 in the other."""
    model = bundled("clearhead-qa")
    calibration = Calibration(temperature=1.2, answerable_scale=0.33, answerable_bias=0.4375)
    monkeypatch.setattr(model, "settings", replace(model.settings, calibration=calibration))
    filler = "The committee met again in the afternoon and talked about the budget for the next year. "
    context = f"{filler * 16}The ferry, people said, went from somewhere near Kessel harbour in spring. {filler * 18}"
    output = model(question="Where does the ferry leave?", context=context)
    assert output.windows == 2 and output.answered
    assert output.answers[0].text == "Kessel harbour"
    assert output.answers[0].score == pytest.approx(0.136 + 0.295, abs=0.002)
    assert output.no_answer_score == pytest.approx(0.381, abs=0.002)
    assert len({(each.start, each.end) for each in output.answers}) == len(output.answers)
