"""Calibrate a model's probabilities on development data (Guo et al., 2017).

The numbers are fitted on the scores of the model that visitors use, and saved in the checkpoint's `config.json`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from evaluation.metrics import exact_match
from models.tasks.base import AnyTaskModel, Calibration
from models.tasks.sentence_pair import GROUPS
from training.text import Question

TEMPERATURES = torch.arange(0.4, 5.0, 0.05).tolist()


def calibrate_sentiment(model: AnyTaskModel, rows: list[tuple[str, float]]) -> Calibration:
    """Fit and save the temperature at which `rows`, texts with their probability of praise, are likeliest.

    A text that neither praises nor blames has a probability of one half, which asks for a high temperature.
    """
    logits = [model.forward(model.preprocess(model.inputs_type(text=text))) for text, _ in rows]
    praise = torch.tensor([share for _, share in rows])
    targets = torch.stack([1 - praise, praise], dim=1)
    scores = torch.from_numpy(np.stack(logits))
    losses = [functional.cross_entropy(scores / temperature, targets).item() for temperature in TEMPERATURES]
    return keep(model, Calibration(TEMPERATURES[int(np.argmin(losses))]))


def calibrate_pairs(model: AnyTaskModel, sets: Sequence[Sequence[tuple[str, str, int]]]) -> Calibration:
    """Fit and save the temperature at which the right labels are likeliest, over the pairs of each of `GROUPS`."""
    keep(model, Calibration())
    first, scores, targets = 0, [], []
    for group, rows in zip(GROUPS, sets, strict=True):
        labels = slice(first, first + len(group))
        for a, b, label in rows:
            logits, _ = model.forward(model.preprocess(model.inputs_type(a=a, b=b)))
            scores.append(torch.from_numpy(logits[labels]))
            targets.append(torch.tensor(label))
        first += len(group)

    def loss(temperature: float) -> float:
        pairs = zip(scores, targets, strict=True)
        return sum(functional.cross_entropy(each / temperature, target).item() for each, target in pairs)

    return keep(model, Calibration(min(TEMPERATURES, key=loss)))


def calibrate_questions(model: AnyTaskModel, questions: list[Question]) -> Calibration:
    """Fit and save the temperature of the spans, and the scale and bias of the odds that a question has an answer.

    The odds are a logistic regression on the log-odds of all spans together against none (Platt, 1999), so the share of
    questions without an answer is part of the fit.
    """
    keep(model, Calibration())
    read = [spans_of(model, question) for question in questions]
    odds = np.array([[np.logaddexp.reduce(spans) - null] for spans, null, _ in read])
    line = LogisticRegression(C=np.inf, tol=1e-8).fit(odds, [bool(question.answers) for question in questions])
    scale, bias = round(float(line.coef_[0, 0]), 3), round(float(line.intercept_[0]), 3)
    spans = [(torch.from_numpy(spans), right) for spans, _, right in read if right is not None]
    right = torch.tensor([right for _, right in spans]).double()
    losses = []
    for temperature in TEMPERATURES:
        best = torch.stack([(scores / temperature).softmax(0).max() for scores, _ in spans])
        losses.append(functional.binary_cross_entropy(best, right).item())
    return keep(model, Calibration(TEMPERATURES[int(np.argmin(losses))], scale, bias))


def spans_of(model: AnyTaskModel, question: Question) -> tuple[NDArray[np.float64], float, bool | None]:
    """The scores of all spans and of no answer, and whether the best span is right; `None` if there is no answer."""
    inputs = model.inputs_type(question=question.question, context=question.context, top_k=1)
    encoded = model.preprocess(inputs)
    raw = model.forward(encoded)
    windows = model.windows(encoded, raw)  # type: ignore[attr-defined]
    scores = np.concatenate([window.span_scores.ravel() for window in windows])
    right = None
    if question.answers:
        right = exact_match(model.postprocess(inputs, encoded, raw).answers[0].text, question.answers) > 0
    return scores[np.isfinite(scores)], min(window.null_score for window in windows), right


def keep(model: AnyTaskModel, calibration: Calibration) -> Calibration:
    """Write `calibration` into the `config.json` of the model's folder, and let the model answer with it."""
    file = model.folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8")) | {Calibration.KEY: asdict(calibration)}
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    model.settings = replace(model.settings, calibration=calibration)
    return calibration
