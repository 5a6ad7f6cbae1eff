"""Calibration: a checkpoint's temperature and bias change probabilities as the formula says, and nothing else."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from models import load_model
from models.loading.description import describe
from models.outputs import QuestionAnsweringOutput, SentimentOutput
from models.registry import Task
from models.tasks.base import AnyTaskModel
from models.tasks.calibration import Calibration
from training.calibration import calibrated, keep

STORY = "Ada kept bees behind the mill. Her brother Tom sold the honey in town every Friday."


@pytest.mark.parametrize("kept", [{}, {"temperature": 1.7}, {"answerable_scale": 0.5, "answerable_bias": -2.0}])
def test_a_checkpoint_keeps_its_calibration_in_its_configuration(
    kept: dict[str, float], tiny_folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "calibrated"
    shutil.copytree(tiny_folder("bert", Task.SENTIMENT, 0), folder)
    keep(folder, Calibration(**kept))
    description, _ = describe(folder)
    assert description.model.calibration == Calibration(**kept)


def test_a_checkpoint_without_calibration_is_changed_in_nothing(tiny_folder: Callable[..., Path]) -> None:
    description, _ = describe(tiny_folder("bert", Task.SENTIMENT, 0))
    assert description.model.calibration == Calibration(1.0, 1.0, 0.0)


def uncalibrated(model: AnyTaskModel, monkeypatch: pytest.MonkeyPatch) -> AnyTaskModel:
    monkeypatch.setattr(model, "settings", replace(model.settings, calibration=Calibration()))
    return model


@pytest.fixture
def sentiment(monkeypatch: pytest.MonkeyPatch) -> AnyTaskModel:
    return uncalibrated(load_model("sentiment"), monkeypatch)


def test_odds_of_a_sentiment_go_to_the_power_of_one_over_the_temperature(sentiment: AnyTaskModel) -> None:
    def odds() -> float:
        scores = [
            each.score for each in cast(SentimentOutput, sentiment(text="A dull film with one good joke.")).scores
        ]
        return scores[0] / scores[1]

    plain = odds()
    calibrated(sentiment, Calibration(temperature=2.0))
    assert odds() == pytest.approx(plain**0.5, rel=1e-4)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> AnyTaskModel:
    return uncalibrated(load_model("question-answering"), monkeypatch)


def answer(model: AnyTaskModel) -> QuestionAnsweringOutput:
    return cast(QuestionAnsweringOutput, model(question="Who sold the honey?", context=STORY, top_k=3))


def test_a_temperature_flattens_answers_and_keeps_their_order(questions: AnyTaskModel) -> None:
    sharp = answer(questions)
    calibrated(questions, Calibration(temperature=3.0))
    flat = answer(questions)
    assert flat.answers[0].text == sharp.answers[0].text
    assert flat.answers[0].score < sharp.answers[0].score
    np.testing.assert_allclose(sum(flat.start_probabilities), 1.0, rtol=1e-6)


def test_scale_and_bias_move_the_odds_that_the_text_answers(questions: AnyTaskModel) -> None:
    def odds(output: QuestionAnsweringOutput) -> float:
        return (1 - output.no_answer_score) / output.no_answer_score

    plain = answer(questions)
    calibrated(questions, Calibration(answerable_scale=0.5, answerable_bias=-1.5))
    after_it = answer(questions)
    assert odds(after_it) == pytest.approx(odds(plain) ** 0.5 * np.exp(-1.5), rel=1e-3)
    for before, after in zip(plain.answers, after_it.answers, strict=True):
        assert after.text == before.text
        shares = [each.score / (1 - output.no_answer_score) for each, output in ((before, plain), (after, after_it))]
        assert shares[0] == pytest.approx(shares[1], rel=1e-3)
