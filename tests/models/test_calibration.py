"""Calibration: a checkpoint's temperature and bias change probabilities as the formula says, and nothing else."""

from typing import cast

import numpy as np
import pytest
from transformers import BertConfig

from models import load_model
from models.outputs import QuestionAnsweringOutput, SentimentOutput
from models.tasks.base import AnyTaskModel
from models.tasks.calibration import KEY, Calibration, calibration_of

STORY = "Ada kept bees behind the mill. Her brother Tom sold the honey in town every Friday."


def test_a_configuration_without_calibration_changes_nothing() -> None:
    assert calibration_of(BertConfig()) == Calibration(1.0, 1.0, 0.0)


def test_a_configuration_gives_back_what_was_put_into_it() -> None:
    kept = Calibration(1.7, -2.0)
    assert calibration_of(BertConfig(**kept.as_config())) == kept


@pytest.fixture
def sentiment(monkeypatch: pytest.MonkeyPatch) -> AnyTaskModel:
    model = load_model("sentiment")
    monkeypatch.setattr(model.config, KEY, {"temperature": 1.0}, raising=False)
    return model


def test_odds_of_a_sentiment_go_to_the_power_of_one_over_the_temperature(sentiment: AnyTaskModel) -> None:
    def odds() -> float:
        scores = [
            each.score for each in cast(SentimentOutput, sentiment(text="A dull film with one good joke.")).scores
        ]
        return scores[0] / scores[1]

    plain = odds()
    setattr(sentiment.config, KEY, {"temperature": 2.0})
    assert odds() == pytest.approx(plain**0.5, rel=1e-4)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> AnyTaskModel:
    model = load_model("question-answering")
    monkeypatch.setattr(model.config, KEY, {"temperature": 1.0}, raising=False)
    return model


def answer(model: AnyTaskModel) -> QuestionAnsweringOutput:
    return cast(QuestionAnsweringOutput, model(question="Who sold the honey?", context=STORY, top_k=3))


def test_a_temperature_flattens_answers_and_keeps_their_order(questions: AnyTaskModel) -> None:
    sharp = answer(questions)
    setattr(questions.config, KEY, {"temperature": 3.0})
    flat = answer(questions)
    assert flat.answers[0].text == sharp.answers[0].text
    assert flat.answers[0].score < sharp.answers[0].score
    np.testing.assert_allclose(sum(flat.start_probabilities), 1.0, rtol=1e-6)


def test_scale_and_bias_move_the_odds_that_the_text_answers(questions: AnyTaskModel) -> None:
    def odds(output: QuestionAnsweringOutput) -> float:
        return (1 - output.no_answer_score) / output.no_answer_score

    plain = answer(questions)
    setattr(questions.config, KEY, {"answerable_scale": 0.5, "answerable_bias": -1.5})
    calibrated = answer(questions)
    assert odds(calibrated) == pytest.approx(odds(plain) ** 0.5 * np.exp(-1.5), rel=1e-3)
    for before, after in zip(plain.answers, calibrated.answers, strict=True):
        assert after.text == before.text
        shares = [each.score / (1 - output.no_answer_score) for each, output in ((before, plain), (after, calibrated))]
        assert shares[0] == pytest.approx(shares[1], rel=1e-3)
