"""Fills the answers of the endpoints from typed results."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from demo.api.contract.base import Answered, CheckpointUsed, TokenScore
from demo.api.contract.before import Cells, EarlyTranslations, Generations
from demo.api.contract.encoders import (
    FilledMasks,
    FoundAnswers,
    FoundNames,
    LabelledToken,
    PairAnswer,
    RankedEndings,
    Sentiment,
)
from demo.api.contract.looks import GuessedToken
from demo.api.contract.surprise import Surprise, TextSurprise, WrittenBy
from demo.api.contract.training import LearnedToken, TinyModel, TrainingStep
from demo.api.contract.vectors import NearWord, Taught, WordInSentences
from demo.api.contract.writing import Completion, Node, TokenProbability, Translations, WrittenToken
from demo.log.run import Run
from models.outputs.base import LoadedCheckpoint, TaskOutput, Token
from models.outputs.encoders import FillMaskOutput, NamesOutput
from models.outputs.surprise import MeasuredText, SurpriseOutput
from models.outputs.training import TrainingStepOutput
from models.outputs.vectors import WordInContextOutput
from models.registry import Task

Shape = TypeVar("Shape")


_FROM: dict[object, dict[str, str]] = {
    TokenScore: {"token": "text"},
    NearWord: {"word": "text", "cosine": "score"},
    TokenProbability: {"token": "text", "probability": "score"},
    WrittenToken: {"id": "token.id"},
    Translations: {"tokens": "generated"},
    Completion: {"tokens": "generated"},
    Node: {"step": "depth"},
    GuessedToken: {"token": "text"},
}
"""The fields of each `TypedDict` that have another name in the typed result, each with its attribute there."""


def shaped(shape: Callable[..., Shape], value: object, **given: Any) -> Shape:
    """Fill the `TypedDict` called `shape` from the attributes of `value`, and from `given` where that names a field.

    A `Token` becomes its text where the field is a text, and predictions become a dict of their scores by text where it
    is a dict.
    """
    attributes = _FROM.get(shape, {})
    found = {
        name: _as_json(kind, given[name] if name in given else attrgetter(attributes.get(name, name))(value))
        for name, kind in get_type_hints(shape).items()
    }
    return cast(Shape, found)


def _as_json(kind: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if is_typeddict(kind):
        return shaped(kind, value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Token):
        return value.text
    if get_origin(kind) is dict:
        return {each.text: each.score for each in value}
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return [_as_json(item, each) for each in value]
    return value


def answered(run: Run, *, logged: bool) -> Answered:
    """The fields that every answer of `run` has."""
    used = LoadedCheckpoint(run.checkpoint, run.revision, run.license, run.precision, run.engine)
    found = shaped(CheckpointUsed, used)
    return {"run_id": run.id, "duration_ms": run.duration_ms, "logged": logged, "checkpoint": found}


def answer_of(shape: Callable[..., Shape], run: Run, output: TaskOutput, *, logged: bool) -> Shape:
    """The answer to a run, in the `TypedDict` of its task, `shape`."""
    own: dict[str, Any] = {**answered(run, logged=logged)}
    match output:
        case FillMaskOutput():
            own["sequences"] = [each.text for each in output.sequences]
            own["sequence_scores"] = [each.score for each in output.sequences]
        case NamesOutput():
            own["tokens"] = [
                shaped(LabelledToken, each, scores=dict(zip(output.classes, each.shares, strict=True)))
                for each in output.labels
            ]
        case WordInContextOutput():
            own["fitting_words"] = [each.fitting for each in output.occurrences]
        case TrainingStepOutput():
            own["places"] = [
                shaped(LearnedToken, each, token=output.tokens[each.position].text) for each in output.places
            ]
        case SurpriseOutput():
            own |= _surprise(output.text)
            own["other"] = output.other and _surprise(output.other)
    return shaped(shape, output, **own)


def _surprise(measured: MeasuredText) -> TextSurprise:
    pseudo = measured.pseudo_perplexity
    counted = len(measured.tokens)
    return shaped(TextSurprise, measured, counted=counted, pseudo_perplexity=pseudo and pseudo.value)


SHAPES: dict[Task, Callable[..., Any]] = {
    Task.FILL_MASK: FilledMasks,
    Task.SENTIMENT: Sentiment,
    Task.QUESTION_ANSWERING: FoundAnswers,
    Task.NAMES: FoundNames,
    Task.SENTENCE_PAIR: PairAnswer,
    Task.ENDINGS: RankedEndings,
    Task.TRANSLATION: Translations,
    Task.TRANSLATORS: EarlyTranslations,
    Task.COMPLETION: Completion,
    Task.WORD_IN_CONTEXT: WordInSentences,
    Task.TEACH: Taught,
    Task.SURPRISE: Surprise,
    Task.WRITTEN_BY: WrittenBy,
    Task.GENERATIONS: Generations,
    Task.CELLS: Cells,
    Task.TRAINING_STEP: TrainingStep,
    Task.TINY_MODEL: TinyModel,
}
