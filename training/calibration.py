"""Temperature scaling (Guo et al., 2017): one number, fitted on development data, makes probabilities mean something.

Fitted through the very model that visitors use, and kept in the checkpoint's `config.json`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.metrics import calibration_error, exact_match, f1
from models import load_model
from models.base import AnyTaskModel
from models.calibration import KEY, Calibration
from training.cards import CHECKPOINTS
from training.text import Question

TEMPERATURES = tuple(0.6 * 1.05**power for power in range(36))
BIASES = tuple(half / 2 for half in range(-8, 17))


def calibrate_sentiment(name: str, rows: list[tuple[str, int]]) -> tuple[Calibration, float]:
    """Keep the temperature that leaves the checkpoint the smallest calibration error on `rows`; both are returned."""
    model = load_model(name)
    logits, labels = [], torch.tensor([label for _, label in rows])
    with torch.inference_mode():
        for sentence, _ in rows:
            logits.append(model.forward(model.preprocess(model.inputs_type(text=sentence))).float())
    stacked = torch.stack(logits)

    def error(temperature: float) -> float:
        best = (stacked / temperature).softmax(-1).max(-1)
        return calibration_error(best.values.tolist(), (best.indices == labels).tolist())

    temperature = min(TEMPERATURES, key=error)
    keep(CHECKPOINTS / name, Calibration(temperature))
    setattr(model.network.config, KEY, Calibration(temperature).as_config()[KEY])
    return Calibration(temperature), error(temperature)


@dataclass(frozen=True, eq=False)
class Judged:
    """One question: the finite scores of its spans [span], that of no answer, and how good either would be to show."""

    scores: NDArray[np.float64]
    null: float
    span_f1: float
    span_is_right: bool
    unanswerable: bool

    def shown(self, calibration: Calibration) -> tuple[float, float, bool]:
        """The probability of what is shown, its F1 and whether it is right."""
        best, null = self.scores.max(), self.null + calibration.no_answer_bias
        top = max(best, null)
        exponentials = np.exp((self.scores - top) / calibration.temperature)
        share = 1 / float(exponentials.sum() + np.exp((null - top) / calibration.temperature))
        if best >= null:
            return share, self.span_f1, self.span_is_right
        return share, float(self.unanswerable), self.unanswerable


def calibrate_questions(name: str, questions: list[Question]) -> tuple[Calibration, float]:
    """Keep the bias of no answer with the best F1 on `questions`, then the temperature with the least error.

    Both are returned, with the calibration error of what is shown.
    """
    model = load_model(name)
    setattr(model.network.config, KEY, Calibration().as_config()[KEY])
    with torch.inference_mode():
        judged = [judge(model, question) for question in questions]

    def overlap(bias: float) -> float:
        return sum(each.shown(Calibration(1.0, bias))[1] for each in judged)

    bias = max(BIASES, key=overlap)

    def error(calibration: Calibration) -> float:
        shares, _, right = zip(*(each.shown(calibration) for each in judged), strict=True)
        return calibration_error(shares, right)

    best = min((Calibration(temperature, bias) for temperature in TEMPERATURES), key=error)
    keep(CHECKPOINTS / name, best)
    setattr(model.network.config, KEY, best.as_config()[KEY])
    return best, error(best)


def judge(model: AnyTaskModel, question: Question) -> Judged:
    """What the model makes of a question, uncalibrated."""
    inputs = model.inputs_type(question=question.question, context=question.context, top_k=1)
    encoded = model.preprocess(inputs)
    raw = model.forward(encoded)
    windows = model.windows(encoded, raw)  # type: ignore[attr-defined]
    scores = np.concatenate([window.span_scores.ravel() for window in windows])
    best = model.postprocess(inputs, encoded, raw).answers[0].text
    return Judged(
        scores[np.isfinite(scores)],
        min(window.null_score for window in windows),
        f1(best, question.answers),
        exact_match(best, question.answers) > 0,
        not question.answers,
    )


def keep(folder: Path, calibration: Calibration) -> None:
    """Write `calibration` into the folder's `config.json`."""
    file = folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8")) | calibration.as_config()
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
