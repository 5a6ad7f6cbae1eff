"""A logged run: its fields, its answer to JSON and back, and a session's wish to keep its runs or not."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from models.outputs.base import TaskOutput
from models.outputs.before import CellsOutput, GenerationsOutput, TranslatorsOutput
from models.outputs.encoders import (
    EndingsOutput,
    FillMaskOutput,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    SentimentOutput,
)
from models.outputs.surprise import SurpriseOutput, WrittenByOutput
from models.outputs.training import TinyModelOutput, TrainingStepOutput
from models.outputs.vectors import TeachOutput, WordInContextOutput
from models.outputs.writing import CompletionOutput, TranslationOutput
from models.registry import Task


@dataclass(frozen=True)
class Run:
    """One run, failed or not; it holds no tensor and no visitor's address.

    `inputs` holds the texts, `parameters` the settings, `seed` the random seed where the task has one. `answer` is the
    typed output as JSON (`demo.log.run.load_answer` reads it back), `None` when the run failed; `error` is
    then the sentence that the visitor read. `created_utc` has a time zone.
    """

    id: str
    session_id: str
    task: Task
    checkpoint: str
    revision: str
    license: str
    inputs: dict[str, Any]
    parameters: dict[str, Any]
    seed: int | None
    answer: dict[str, Any] | None
    duration_ms: float
    error: str | None
    created_utc: datetime

    @property
    def fields(self) -> dict[str, Any]:
        """Everything the visitor set, by the names that the task's form and endpoint use."""
        seed = {} if self.seed is None else {"seed": self.seed}
        return {**self.inputs, **self.parameters, **seed}

    @property
    def precision(self) -> str:
        """The precision of the computation: float32 for runs logged before it was kept, "" for a failed one."""
        return self._of_checkpoint("precision", "float32")

    @property
    def engine(self) -> str:
        """The engine that computed the answer, "" for a failed run; runs logged before it was kept used PyTorch."""
        return self._of_checkpoint("engine", "torch")

    def _of_checkpoint(self, name: str, otherwise: str) -> str:
        return "" if self.answer is None else str(self.answer.get("checkpoint", {}).get(name, otherwise))


_NOTHING_KEPT = "~"


def keeps(session_id: str) -> bool:
    """Whether the visitor wants the runs of this session kept; the session id itself carries that wish."""
    return not session_id.startswith(_NOTHING_KEPT)


def owner(session_id: str) -> str:
    """The session id without its wish, under which runs are kept."""
    return session_id.removeprefix(_NOTHING_KEPT)


def with_wish(session_id: str, keep: bool) -> str:
    """The session id with the wish to keep its runs or not."""
    return owner(session_id) if keep else _NOTHING_KEPT + owner(session_id)


OUTPUT_TYPES: dict[Task, type[TaskOutput]] = {
    Task.FILL_MASK: FillMaskOutput,
    Task.SENTIMENT: SentimentOutput,
    Task.QUESTION_ANSWERING: QuestionAnsweringOutput,
    Task.NAMES: NamesOutput,
    Task.SENTENCE_PAIR: SentencePairOutput,
    Task.ENDINGS: EndingsOutput,
    Task.TRANSLATION: TranslationOutput,
    Task.TRANSLATORS: TranslatorsOutput,
    Task.COMPLETION: CompletionOutput,
    Task.WORD_IN_CONTEXT: WordInContextOutput,
    Task.TEACH: TeachOutput,
    Task.SURPRISE: SurpriseOutput,
    Task.WRITTEN_BY: WrittenByOutput,
    Task.GENERATIONS: GenerationsOutput,
    Task.CELLS: CellsOutput,
    Task.TRAINING_STEP: TrainingStepOutput,
    Task.TINY_MODEL: TinyModelOutput,
}


@cache
def _adapters() -> dict[type[TaskOutput], TypeAdapter[Any]]:
    return {output_type: TypeAdapter(output_type) for output_type in OUTPUT_TYPES.values()}


def dump_answer(output: TaskOutput) -> dict[str, Any]:
    """The output as a JSON-compatible dict."""
    dumped: dict[str, Any] = _adapters()[type(output)].dump_python(output, mode="json")
    return dumped


def load_answer(task: Task, answer: dict[str, Any]) -> TaskOutput:
    """The typed output that `dump_answer` wrote; raises pydantic's `ValidationError` for anything else."""
    output: TaskOutput = _adapters()[OUTPUT_TYPES[task]].validate_python(answer)
    return output
