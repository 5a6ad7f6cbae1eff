"""Calibration: what is measured of probabilities, and that fitting makes them mean something."""

import numpy as np
import pytest

from evaluation.metrics import calibration_error
from models.tasks.calibration import Calibration
from training.calibration import Judged, Shown, fit_questions, shown


def test_calibration_error_is_the_weighted_gap_between_probability_and_share_of_right_answers() -> None:
    # Two at 0.9 with one right: a gap of 0.4 for half of them; two at 0.55, both right: 0.45 for the other half.
    assert calibration_error([0.9, 0.9, 0.55, 0.55], [True, False, True, True]) == pytest.approx(42.5)
    assert calibration_error([1.0, 1.0], [True, True]) == 0.0


def _judged(*questions: tuple[list[float], float, float, bool, bool]) -> Judged:
    scores, nulls, f1s, right, unanswerable = zip(*questions, strict=True)
    arrays = (np.array(column) for column in (nulls, f1s, right, unanswerable))
    return Judged(tuple(np.log(np.array(each, np.float32)) for each in scores), *arrays)


def test_what_is_shown_of_a_question_is_judged_by_temperature_scale_and_bias() -> None:
    # Spans worth 2 and 1, no answer 1: shares of a half, a quarter and a quarter.
    judged = _judged(([2.0, 1.0], 0.0, 0.5, False, True))
    plain, biased, scaled = shown(judged, [
        Calibration(), Calibration(answerable_bias=-np.log(24)), Calibration(2.0, 0.5, -np.log(24))
    ])  # fmt: skip
    assert plain == Shown(50.0, pytest.approx(50.0), 0.0)
    # Answers are three times as likely as none, and an eighth of that: 1 in 9. None is right, at 8 of 9.
    assert biased == Shown(100.0, pytest.approx(100 / 9), 0.0)
    # The root of three, by 24.
    assert scaled.error == pytest.approx(100 * (3**0.5 / 24) / (1 + 3**0.5 / 24))


def test_the_calibration_suits_questions_with_and_without_an_answer() -> None:
    chance = np.random.default_rng(4)

    def asked(number: int, share_unanswerable: float) -> Judged:
        rows = []
        for _ in range(number):
            unanswerable = bool(chance.random() < share_unanswerable)
            # Two bells 1.4 apart: the log-odds are 1.4 times the place, and the network says five times as much.
            margin = 7 * chance.normal(-0.7 if unanswerable else 0.7)
            right = not unanswerable and bool(chance.random() < 0.8)
            rows.append(([0.8, 0.2], -margin, float(right), right, unanswerable))
        return _judged(*rows)

    mixed = asked(1500, 0.5)
    fitted = fit_questions(mixed)
    before, after = shown(mixed, [Calibration(), fitted])
    assert before.error > 10 and after.error < 7
    assert after.f1 > before.f1 - 1
    assert after.refused < before.refused, "F1 is given up so that fewer answers are withheld"
    assert fitted.answerable_scale < 0.5
