"""Typed outputs as JSON and back, so that a run reopens without its model."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    TranslationOutput,
)
from models.registry import Task

OUTPUT_TYPES: dict[Task, type[TaskOutput]] = {
    Task.FILL_MASK: FillMaskOutput,
    Task.SENTIMENT: SentimentOutput,
    Task.QUESTION_ANSWERING: QuestionAnsweringOutput,
    Task.TRANSLATION: TranslationOutput,
    Task.COMPLETION: CompletionOutput,
}


@cache
def _adapters() -> dict[type[TaskOutput], TypeAdapter[Any]]:
    return {output_type: TypeAdapter(output_type) for output_type in OUTPUT_TYPES.values()}


def dump_answer(output: TaskOutput) -> dict[str, Any]:
    """The output as objects that JSON knows."""
    dumped: dict[str, Any] = _adapters()[type(output)].dump_python(output, mode="json")
    return dumped


def load_answer(task: Task, answer: dict[str, Any]) -> TaskOutput:
    """The typed output that `dump_answer` wrote; raises pydantic's `ValidationError` for anything else."""
    output: TaskOutput = _adapters()[OUTPUT_TYPES[task]].validate_python(answer)
    return output
