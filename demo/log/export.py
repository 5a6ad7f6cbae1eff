"""Runs as files that visitors take home: CSV for a spreadsheet, JSON for everything else."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any, TextIO, TypedDict, cast

from demo.log.run import Run, load_answer
from models.outputs.base import TaskOutput
from models.outputs.before import CellsOutput, GenerationsOutput, TranslatorsOutput, WatchedCell
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

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json(runs: Iterable[Run]) -> str:
    """Everything that is kept of the runs, as a JSON list."""
    file = io.StringIO()
    write_json(runs, file)
    return file.getvalue()


def as_csv(runs: Iterable[Run]) -> str:
    """One line per run, with the answer in words; a cell that a spreadsheet would take for a formula gets an `'`."""
    file = io.StringIO(newline="")
    write_csv(runs, file)
    return file.getvalue()


def write_json(runs: Iterable[Run], file: TextIO) -> None:
    """Write the runs as a JSON list, one at a time, so that any number of them fits into memory."""
    between = "[\n"
    for run in runs:
        # The only line breaks are JSON's own: those of a text are escaped.
        lines = json.dumps(public_fields(run), ensure_ascii=False, indent=2).replace("\n", "\n  ")
        file.write(f"{between}  {lines}")
        between = ",\n"
    file.write("[]" if between == "[\n" else "\n]")


def write_csv(runs: Iterable[Run], file: TextIO) -> None:
    """Write the runs as CSV, one at a time; `file` must leave line ends as they are."""
    lines = csv.writer(file)
    lines.writerow(LoggedRun.__annotations__)
    for run in runs:
        answer = answer_in_words(load_answer(run.task, run.answer)) if run.answer else ""
        lines.writerow([safe_cell(value) for value in {**public_fields(run), "answer": answer}.values()])


class LoggedRun(TypedDict):
    """A run as it leaves the log."""

    id: str
    created_utc: str
    task: str
    checkpoint: str
    revision: str
    license: str
    inputs: dict[str, Any]
    parameters: dict[str, Any]
    seed: int | None
    answer: dict[str, Any] | None
    duration_ms: float
    error: str | None
    run_id: str


def public_fields(run: Run) -> LoggedRun:
    """A run as JSON, without the id of its session: whoever reads a file could use that."""
    own = {
        "created_utc": run.created_utc.isoformat(),
        "task": run.task.value,
        "duration_ms": round(run.duration_ms, 3),
        # As every other answer calls it; `id` is what it was called here before.
        "run_id": run.id,
    }
    return cast(
        LoggedRun, {name: own[name] if name in own else getattr(run, name) for name in LoggedRun.__annotations__}
    )


def answer_in_words(output: TaskOutput) -> str:
    """The best answer as one text."""
    match output:
        case FillMaskOutput():
            return output.sequences[0].text
        case GenerationsOutput():
            return "; ".join(f"{row.name}: {row.label}" for row in output.rows)
        case SentimentOutput():
            return output.label
        case QuestionAnsweringOutput():
            return output.answers[0].text if output.answered else ""
        case NamesOutput():
            return "; ".join(f"{each.text} ({each.label})" for each in output.entities)
        case SentencePairOutput():
            implied = max(output.entailment, key=lambda each: each.score).text
            follows, same = (f"{100 * share:.0f} %" for share in (output.follows, output.paraphrase))
            return f"follows {follows}, {implied}, says the same {same}, cosine {output.similarity:.2f}"
        case EndingsOutput():
            return output.endings[output.by_follows[0]].text
        case CellsOutput():
            return "; ".join(cell_in_words(each) for each in output.cells)
        case TranslationOutput():
            return output.translations[0].text
        case TranslatorsOutput():
            return "; ".join(f"{row.name}: {row.text}" for row in output.rows)
        case CompletionOutput():
            return output.text
        case WordInContextOutput():
            return word_finding(output, output.telling)
        case TeachOutput():
            return ", ".join(each.label for each in output.predictions) or measured(output)
        case SurpriseOutput() if output.other:
            return likelier(output)
        case SurpriseOutput():
            return f"{output.text.bits_per_token:.2f} bits per token, perplexity {output.text.perplexity:,.1f}"
        case WrittenByOutput():
            return f"reads like a model’s text: {100 * output.machine:.0f} %"
        case TrainingStepOutput():
            return f"loss {output.loss:.2f} nats before the step, {output.loss_after:.2f} after it"
        case TinyModelOutput():
            first, last = output.course[0], output.course[-1]
            learned = f"loss from {first.loss:.2f} to {last.loss:.2f} nats in {last.step} steps"
            return f"{learned}; it writes: {output.samples[-1].text}"
        case _:
            raise TypeError(f"{type(output).__name__} has no answer in words")


def cell_in_words(each: WatchedCell) -> str:
    """A cell by its number, and what it watches."""
    if each.correlation is None:
        return f"cell {each.cell}"
    return f"cell {each.cell}: {each.watches}, correlation {each.correlation:.2f}"


def word_finding(output: WordInContextOutput, layer: int) -> str:
    """Which sentences are closest at `layer` and which least alike, in a sentence; sentences count from 1."""
    (one, other, most), (first, second, least) = output.extremes(layer)
    where = f"At layer {layer}" if layer else "Before the first layer"
    if len(output.occurrences) == 2:
        return f"{where} the word’s two vectors have a cosine of {most:.2f}."
    return (
        f"{where} sentences {one + 1} and {other + 1} are closest ({most:.2f}); {first + 1} and {second + 1} are least "
        f"alike ({least:.2f})."
    )


def measured(output: TeachOutput) -> str:
    """How often a taught classifier was right."""
    right = output.measured - len(output.mistakes)
    return f"{right} of {output.measured} examples right"


_ALIKE_BITS = 0.05
_LARGEST_RATIO_BITS = 20


def likelier(output: SurpriseOutput) -> str:
    """Which of two texts the model finds likelier, in a sentence or two; a longer text is nearly always less likely."""
    assert output.other  # noqa: S101
    more = output.other.bits - output.text.bits
    per_token = output.other.bits_per_token - output.text.bits_per_token
    if abs(more) < _ALIKE_BITS:
        return "The model finds both texts equally likely"
    ratio = 2 ** abs(more)
    times = (
        f"{ratio:,.{0 if ratio >= 9.95 else 1}f}"
        if abs(more) < _LARGEST_RATIO_BITS
        else f"2 to the power of {abs(more):,.0f}"
    )
    first, second = ("first", "second") if more > 0 else ("second", "first")
    said = f"The model finds the {first} text {times} times as likely as the {second}"
    if more * per_token >= 0:
        return said
    return f"{said}; per token it is less surprised by the {second}, which is longer"


def safe_cell(value: Any) -> str:
    """A cell of a CSV file; one that a spreadsheet would take for a formula gets an `'` in front."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(_STARTS_A_FORMULA) else text
