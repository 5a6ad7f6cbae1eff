"""Temperature scaling (Guo et al., 2017): one number, fitted on development data, makes probabilities mean something.

Whether a text answers a question at all has a scale and a bias of its own (Platt, 1999).

Fitted through the very model that visitors use, and kept in the checkpoint's `config.json`.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from evaluation.metrics import calibration_error, exact_match, f1
from models import load_model
from models.tasks.base import AnyTaskModel
from models.tasks.calibration import Calibration
from training.cards import CHECKPOINTS
from training.text import Question

TEMPERATURES = tuple(0.3 * 1.05**power for power in range(50))
TEMPERATURES_OF_SPANS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.7, 2.0)
SCALES = (0.1, 0.12, 0.15, 0.17, 0.2, 0.22, 0.25, 0.28, 0.3, 0.33, 0.36, 0.4, 0.45, 0.5, 0.7, 1.0)
BIASES = tuple(hundredth / 100 for hundredth in range(-49, 102, 3))
MOST_ERROR = 4.5
"""The calibration error, in percent, that may be left where something else gains by it."""
F1_GIVEN = 0.8
"""How many points of F1 are given up so that fewer questions are refused that the text does answer."""


def calibrate_sentiment(name: str, rows: list[tuple[str, int]]) -> tuple[Calibration, float]:
    """Keep the temperature at which the labels of `rows` are likeliest; it and the calibration error that it leaves."""
    model = load_model(name)
    labels = torch.tensor([label for _, label in rows])
    encoded = (model.preprocess(model.inputs_type(text=sentence)) for sentence, _ in rows)
    logits = torch.from_numpy(np.stack([model.forward(each) for each in encoded]))
    losses = {each: float(nn.functional.cross_entropy(logits / each, labels)) for each in TEMPERATURES}
    temperature = min(losses, key=losses.__getitem__)
    keep(CHECKPOINTS / name, Calibration(temperature))
    calibrated(model, Calibration(temperature))
    best = (logits / temperature).softmax(-1).max(-1)
    return Calibration(temperature), calibration_error(best.values.tolist(), (best.indices == labels).tolist())


@dataclass(frozen=True, eq=False)
class Judged:
    """Questions, an entry each: their spans' scores and no answer's, uncalibrated, and how good either is to show.

    `span_scores` are logits `[span]`, the finite ones; the others are numbers `[question]`.
    """

    span_scores: tuple[NDArray[np.float32], ...]
    null_scores: NDArray[np.float64]
    span_f1: NDArray[np.float64]
    span_is_right: NDArray[np.bool_]
    unanswerable: NDArray[np.bool_]

    def mass(self, temperature: float) -> NDArray[np.float64]:
        """The logarithm of all spans' exponentials together."""
        return np.array([np.logaddexp.reduce(scores.astype(float) / temperature) for scores in self.span_scores])

    def best(self) -> NDArray[np.float64]:
        """The best span's score."""
        return np.array([float(scores.max()) for scores in self.span_scores])


@dataclass(frozen=True)
class Shown:
    """What a calibration makes of questions, in percent.

    The F1 of what is shown, its calibration error, and the share of answerable questions for which no answer is shown.
    """

    f1: float
    error: float
    refused: float


def shown(judged: Judged, calibrations: Iterable[Calibration]) -> list[Shown]:
    """The same for each of `calibrations`, computed together."""
    odds, best = judged.mass(1.0) - judged.null_scores, judged.best()
    by_temperature: dict[float, NDArray[np.float64]] = {}
    found = []
    for each in calibrations:
        if each.temperature not in by_temperature:
            by_temperature[each.temperature] = np.exp(best / each.temperature - judged.mass(each.temperature))
        answered = 1 / (1 + np.exp(-(each.answerable_scale * odds + each.answerable_bias)))
        span = answered * by_temperature[each.temperature]
        is_span = answered >= 0.5
        right = np.where(is_span, judged.span_is_right, judged.unanswerable)
        score = np.where(is_span, judged.span_f1, judged.unanswerable)
        error = calibration_error(np.where(is_span, span, 1 - answered).tolist(), right.tolist())
        refused = float((~is_span[~judged.unanswerable]).mean()) if not judged.unanswerable.all() else 0.0
        found.append(Shown(100 * float(score.mean()), error, 100 * refused))
    return found


def pooled(one: Judged, other: Judged) -> Judged:
    """The questions of both."""
    columns = ("null_scores", "span_f1", "span_is_right", "unanswerable")
    together = (np.concatenate([getattr(one, column), getattr(other, column)]) for column in columns)
    return Judged(one.span_scores + other.span_scores, *together)


def fit_questions(mixed: Judged) -> Calibration:
    """The calibration that refuses the fewest answerable questions of `mixed`, at little cost.

    The cost is bounded by `MOST_ERROR` and `F1_GIVEN`. `mixed` has questions without an answer among its own: how often
    a text answers is a part of how sure one may be that it does.
    """
    grid = [Calibration(*numbers) for numbers in product(TEMPERATURES_OF_SPANS, SCALES, BIASES)]
    found = shown(mixed, grid)
    errors, scores = np.array([each.error for each in found]), np.array([each.f1 for each in found])
    calibrated = errors <= max(MOST_ERROR, errors.min())
    good = calibrated & (scores >= scores[calibrated].max() - F1_GIVEN)
    # Where several refuse equally few, the best calibrated of them.
    return grid[min(np.flatnonzero(good), key=lambda place: (found[place].refused, errors[place]))]


def calibrate_questions(name: str, answerable: list[Question], mixed: list[Question]) -> dict[str, float]:
    """Keep the calibration fitted on `mixed`; its numbers and all figures measured with it."""
    model = load_model(name)
    calibrated(model, Calibration())
    first, second = (judge(model, questions) for questions in (answerable, mixed))
    calibration = fit_questions(second)
    keep(CHECKPOINTS / name, calibration)
    calibrated(model, calibration)
    on_first, on_second, on_all = (shown(each, [calibration])[0] for each in (first, second, pooled(first, second)))
    return asdict(calibration) | {
        "em": 100 * float(first.span_is_right.mean()),
        "f1": 100 * float(first.span_f1.mean()),
        "v2_f1": on_second.f1,
        "error": on_all.error,
        "v1_error": on_first.error,
        "v2_error": on_second.error,
        "refused": on_second.refused,
    }


def judge(model: AnyTaskModel, questions: list[Question]) -> Judged:
    """What the model, which is not calibrated, makes of questions."""
    scores, nulls, best = [], [], []
    for question in questions:
        inputs = model.inputs_type(question=question.question, context=question.context, top_k=1)
        encoded = model.preprocess(inputs)
        raw = model.forward(encoded)
        windows = model.windows(encoded, raw)  # type: ignore[attr-defined]
        spans = np.concatenate([window.span_scores.ravel() for window in windows])
        scores.append(spans[np.isfinite(spans)].astype(np.float32))
        nulls.append(min(window.null_score for window in windows))
        best.append(model.postprocess(inputs, encoded, raw).answers[0].text)
    pairs = list(zip(best, questions, strict=True))
    return Judged(
        tuple(scores),
        np.array(nulls),
        np.array([f1(text, question.answers) if question.answers else 0.0 for text, question in pairs]),
        np.array([bool(question.answers) and exact_match(text, question.answers) > 0 for text, question in pairs]),
        np.array([not question.answers for question in questions]),
    )


def calibrated(model: AnyTaskModel, calibration: Calibration) -> None:
    """Let the loaded `model` answer with `calibration`."""
    model.settings = replace(model.settings, calibration=calibration)


def keep(folder: Path, calibration: Calibration) -> None:
    """Write `calibration` into the folder's `config.json`."""
    file = folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8")) | calibration.as_config()
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
