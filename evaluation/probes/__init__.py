"""Probes: short texts that a newcomer might type first, with the answers that a person would accept as right.

They were written for this project, in one file per task. A third of each is held out (`"split": "kept"`): while a model
is developed, only the open ones are used. `kind` says what a probe tests. Prompts to be continued are judged by a
person reading them, and have no judge here.
"""

import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evaluation.metrics import normalised_answer
from models.outputs.encoders import (
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.writing import TranslationOutput
from models.registry import Task
from models.tasks.base import AnyTaskModel

FOLDER = Path(__file__).parent
FILES = {
    Task.FILL_MASK: "blanks.json",
    Task.SENTIMENT: "sentiment.json",
    Task.QUESTION_ANSWERING: "questions.json",
    Task.NAMES: "names.json",
    Task.SENTENCE_PAIR: "sentence_pairs.json",
    Task.TRANSLATION: "translation.json",
    Task.COMPLETION: "prompts.json",
}
OF_CARDS = "probes of our own that pass, %"
"""The name in model cards of the share of open probes that pass."""
UNSURE = 0.8
"""The largest probability of a class that is right for a text that neither praises nor blames."""
WORDS_MORE = 2
"""The most words by which an answer may be longer or shorter than an acceptable span."""
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}«»“”‘’…–—\\s]+")

Probe = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One probe's question, the model's first answer, and whether it is right."""

    kind: str
    split: str
    asked: str
    answer: str
    passed: bool


def probes_of(task: Task, split: str = "all") -> list[Probe]:
    """The probes of `task`: `open`, `kept` or `all` of them. Questions come one by one, each with its `context`."""
    items = json.loads((FOLDER / FILES[task]).read_text(encoding="utf-8"))
    if task is Task.QUESTION_ANSWERING:
        items = [
            {"split": item["split"], "context": item["context"]} | asked
            for item in items
            for asked in item["questions"]
        ]
    return [item for item in items if split in ("all", item["split"])]


def verdicts(task: Task, model: AnyTaskModel, split: str = "open") -> list[Verdict]:
    """The verdict on every probe of `task` in `split`."""
    return [
        Verdict(probe["kind"], probe["split"], _asked(probe), *_JUDGES[task](model, probe))
        for probe in probes_of(task, split)
    ]


def passed_share(found: list[Verdict]) -> float:
    """The share of verdicts that passed, in percent."""
    return 100 * sum(verdict.passed for verdict in found) / len(found)


def _asked(probe: Probe) -> str:
    return f"{probe['a']} / {probe['b']}" if "a" in probe else probe.get("question") or probe["text"]


def _word(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    text = probe["text"].replace("[MASK]", str(model.tokenizer.settings.mask_token))
    answer = cast(FillMaskOutput, model(text=text, top_k=1)).predictions[0][0].text
    return answer, answer.lower() in probe["accepted"]


def _label(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    output = cast(SentimentOutput, model(text=probe["text"]))
    score = max(each.score for each in output.scores)
    right = score <= UNSURE if probe["label"] == "neutral" else output.label == probe["label"]
    return f"{output.label} {score:.0%}", right


def _span(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    output = cast(QuestionAnsweringOutput, model(question=probe["question"], context=probe["context"], top_k=1))
    if not output.answered:
        return "(no answer)", not probe["answers"]
    answer = output.answers[0].text
    return answer, any(_about_the_same(answer, span) for span in probe["answers"])


def _about_the_same(answer: str, span: str) -> bool:
    given, wanted = normalised_answer(answer).split(), normalised_answer(span).split()
    shorter, longer = sorted((given, wanted), key=len)
    places = range(len(longer) - len(shorter) + 1)
    within = any(longer[start : start + len(shorter)] == shorter for start in places)
    return bool(shorter) and within and len(longer) - len(shorter) <= WORDS_MORE


def _names(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    found = [[each.text, each.label] for each in cast(NamesOutput, model(text=probe["text"])).entities]
    return ", ".join(f"{text} ({label})" for text, label in found) or "(no name)", found == probe["names"]


def _pair(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    """Judge the question called `kind`; for `alike`, `b` must be more similar to `a` than `less_like` is."""
    output = cast(SentencePairOutput, model(a=probe["a"], b=probe["b"]))
    kind = probe["kind"]
    if kind == "alike":
        other = cast(SentencePairOutput, model(a=probe["a"], b=probe["less_like"])).similarity
        return f"{output.similarity:.2f} against {other:.2f}", output.similarity > other
    if kind == "entailment":
        label = max(output.entailment, key=lambda each: each.score).text
        return label, label == probe["expected"]
    score = float(getattr(output, kind))
    return f"{score:.0%}", (score > 0.5) == probe["expected"]


def _sentence(model: AnyTaskModel, probe: Probe) -> tuple[str, bool]:
    answer = cast(TranslationOutput, model(text=probe["text"])).translations[0].text
    return answer, _words(answer) in map(_words, probe["accepted"])


def _words(text: str) -> list[str]:
    return _PUNCTUATION.sub(" ", text.lower().replace("œ", "oe")).split()


_JUDGES: dict[Task, Callable[[AnyTaskModel, Probe], tuple[str, bool]]] = {
    Task.FILL_MASK: _word,
    Task.SENTIMENT: _label,
    Task.QUESTION_ANSWERING: _span,
    Task.NAMES: _names,
    Task.SENTENCE_PAIR: _pair,
    Task.TRANSLATION: _sentence,
}
JUDGED = tuple(_JUDGES)
"""The tasks whose answers a program can judge."""
