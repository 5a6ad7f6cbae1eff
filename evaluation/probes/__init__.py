"""Questions that a visitor might try, written for this project, with what a sensible answer is; one file a task.

A probe passes when the first answer shown is one of those: a word, a label, a span (or "no answer"), a translation,
and for an opening a continuation that keeps its subject and does not repeat itself. `kind` says what it tries.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from evaluation.metrics import normalised_answer
from models import load_model
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    TranslationOutput,
)
from models.registry import Task
from models.tasks.base import AnyTaskModel
from training.stories import repeats_phrase

FOLDER = Path(__file__).parent
OF_CARDS = "probes of our own that pass, %"
"""What cards call the share that passes."""
OPENING_TOKENS = 60
OPENING_SEED = 7
_SPACES = re.compile(r"[\s\u00a0\u202f]+")

Probe = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What one probe asked, what the model said first, and whether that is sensible."""

    kind: str
    asked: str
    answer: str
    passed: bool


def probes_of(task: Task) -> list[Probe]:
    """The probes of `task`."""
    return cast(list[Probe], json.loads((FOLDER / f"{task.value}.json").read_text(encoding="utf-8")))


def bundled_share(task: Task) -> float:
    """The share of probes that the bundled checkpoint of `task` passes, in percent."""
    return passed_share(verdicts(task, load_model(task.endpoint)))


def verdicts(task: Task, model: AnyTaskModel) -> list[Verdict]:
    """The verdict on every probe of `task`."""
    return [_JUDGES[task](model, probe) for probe in probes_of(task)]


def passed_share(found: list[Verdict]) -> float:
    """The share of verdicts that passed, in percent."""
    return 100 * sum(verdict.passed for verdict in found) / len(found)


def _word(model: AnyTaskModel, probe: Probe) -> Verdict:
    text = probe["text"].replace("[MASK]", str(model.tokenizer.mask_token))
    answer = cast(FillMaskOutput, model(text=text, top_k=1)).predictions[0][0].text
    return Verdict(probe["kind"], probe["text"], answer, answer.lower() in probe["sensible"])


def _label(model: AnyTaskModel, probe: Probe) -> Verdict:
    answer = cast(SentimentOutput, model(text=probe["text"])).label
    return Verdict(probe["kind"], probe["text"], answer, answer == probe["label"])


def _span(model: AnyTaskModel, probe: Probe) -> Verdict:
    output = cast(QuestionAnsweringOutput, model(question=probe["question"], context=probe["context"], top_k=1))
    answer = output.answers[0].text if output.answered else ""
    right = {normalised_answer(each) for each in probe["answers"]} or {""}
    return Verdict(probe["kind"], probe["question"], answer or "(no answer)", normalised_answer(answer) in right)


def _sentence(model: AnyTaskModel, probe: Probe) -> Verdict:
    answer = cast(TranslationOutput, model(text=probe["text"])).translations[0].text

    def plain(text: str) -> str:
        return _SPACES.sub(" ", text.replace("’", "'")).strip()

    return Verdict(probe["kind"], probe["text"], answer, plain(answer) in {plain(each) for each in probe["acceptable"]})


def _opening(model: AnyTaskModel, probe: Probe) -> Verdict:
    output = cast(
        CompletionOutput,
        model(prompt=probe["prompt"], max_new_tokens=OPENING_TOKENS, strategy="sample", seed=OPENING_SEED),
    )
    words = set(re.findall(r"[a-z]+", output.text.lower()))
    keeps = not words.isdisjoint(probe["subject"])
    repeats = repeats_phrase(torch.tensor([each.token.id for each in output.generated]))
    return Verdict(probe["kind"], probe["prompt"], output.text, keeps and not repeats)


_JUDGES: dict[Task, Callable[[AnyTaskModel, Probe], Verdict]] = {
    Task.FILL_MASK: _word,
    Task.SENTIMENT: _label,
    Task.QUESTION_ANSWERING: _span,
    Task.TRANSLATION: _sentence,
    Task.COMPLETION: _opening,
}
