"""Export of runs as CSV, for spreadsheets, and as JSON; answers in words."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any, TextIO, TypedDict, cast

from demo.language import _, number
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
    """The public fields of the runs as a JSON list."""
    file = io.StringIO()
    write_json(runs, file)
    return file.getvalue()


def as_csv(runs: Iterable[Run]) -> str:
    """The runs as CSV, one row each, with the answer in words and every cell made safe by `safe_cell`."""
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
    """The public fields of a run, in exports and in the answer of `session_runs`."""

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
    """The fields of a run for JSON, without the id of its session, which a reader of the file could misuse."""
    own = {
        "created_utc": run.created_utc.isoformat(),
        "task": run.task.value,
        "duration_ms": round(run.duration_ms, 3),
        # The name in every other answer; `id` is the older name here.
        "run_id": run.id,
    }
    return cast(
        LoggedRun, {name: own[name] if name in own else getattr(run, name) for name in LoggedRun.__annotations__}
    )


def answer_in_words(output: TaskOutput) -> str:
    """The best answer as one text; raises `TypeError` for an output of another type."""
    match output:
        case FillMaskOutput():
            return output.sequences[0].text
        case GenerationsOutput():
            return "; ".join(f"{_(row.name)}: {_(row.label)}" for row in output.rows)
        case SentimentOutput():
            return _(output.label)
        case QuestionAnsweringOutput():
            return output.answers[0].text if output.answered else ""
        case NamesOutput():
            return "; ".join(f"{each.text} ({_(each.label)})" for each in output.entities)
        case SentencePairOutput():
            return _(
                "follows {follows:.0f} %, {implied}, says the same {same:.0f} %, cosine {cosine:.2f}",
                follows=100 * output.follows,
                implied=_(max(output.entailment, key=lambda each: each.score).text),
                same=100 * output.paraphrase,
                cosine=output.similarity,
            )
        case EndingsOutput():
            return output.endings[output.by_follows[0]].text
        case CellsOutput():
            return "; ".join(cell_in_words(each) for each in output.cells)
        case TranslationOutput():
            return output.translations[0].text
        case TranslatorsOutput():
            return "; ".join(f"{_(row.name)}: {row.text}" for row in output.rows)
        case CompletionOutput():
            return output.text
        case WordInContextOutput():
            return word_finding(output, output.telling)
        case TeachOutput():
            return ", ".join(each.label for each in output.predictions) or measured(output)
        case SurpriseOutput() if output.other:
            return likelier(output)
        case SurpriseOutput():
            return _(
                "{bits:.2f} bits per token, perplexity {perplexity:,.1f}",
                bits=output.text.bits_per_token,
                perplexity=output.text.perplexity,
            )
        case WrittenByOutput():
            return _("reads like a model’s text: {share:.0f} %", share=100 * output.machine)
        case TrainingStepOutput():
            return _(
                "loss {before:.2f} nats before the step, {after:.2f} after it",
                before=output.loss,
                after=output.loss_after,
            )
        case TinyModelOutput():
            first, last = output.course[0], output.course[-1]
            return _(
                "loss from {first:.2f} to {last:.2f} nats in {steps} steps; it writes: {text}",
                first=first.loss,
                last=last.loss,
                steps=last.step,
                text=output.samples[-1].text,
            )
        case _unknown:
            raise TypeError(f"{type(output).__name__} has no answer in words")


def cell_in_words(each: WatchedCell) -> str:
    """The number of a cell, with what it watches and their correlation, if that is known."""
    if each.correlation is None:
        return _("cell {number}", number=each.cell)
    return _(
        "cell {number}: {watches}, correlation {correlation:.2f}",
        number=each.cell,
        watches=_(each.watches),
        correlation=each.correlation,
    )


def word_finding(output: WordInContextOutput, layer: int) -> str:
    """A sentence on which sentences, counted from 1, are closest and least alike at `layer`."""
    (one, other, most), (first, second, least) = output.extremes(layer)
    if len(output.occurrences) == 2:
        if not layer:
            return _("Before the first layer the word’s two vectors have a cosine of {cosine:.2f}.", cosine=most)
        return _("At layer {layer} the word’s two vectors have a cosine of {cosine:.2f}.", layer=layer, cosine=most)
    found = {"one": one + 1, "other": other + 1, "most": most, "first": first + 1, "second": second + 1, "least": least}
    if not layer:
        return _(
            "Before the first layer sentences {one} and {other} are closest ({most:.2f}); {first} and {second} are "
            "least alike ({least:.2f}).",
            **found,
        )
    return _(
        "At layer {layer} sentences {one} and {other} are closest ({most:.2f}); {first} and {second} are least alike "
        "({least:.2f}).",
        layer=layer,
        **found,
    )


def measured(output: TeachOutput) -> str:
    """A phrase on how many examples a taught classifier got right."""
    right = output.measured - len(output.mistakes)
    return _("{right} of {measured} examples right", right=right, measured=output.measured)


_ALIKE_BITS = 0.05
_LARGEST_RATIO_BITS = 20


def likelier(output: SurpriseOutput) -> str:
    """A sentence on which of two texts the model finds likelier; a longer text is nearly always less likely."""
    assert output.other  # noqa: S101
    more = output.other.bits - output.text.bits
    per_token = output.other.bits_per_token - output.text.bits_per_token
    if abs(more) < _ALIKE_BITS:
        return _("The model finds both texts equally likely")
    ratio = 2 ** abs(more)
    times = (
        number(ratio, f",.{0 if ratio >= 9.95 else 1}f")
        if abs(more) < _LARGEST_RATIO_BITS
        else _("2 to the power of {bits:,.0f}", bits=abs(more))
    )
    if more * per_token >= 0:
        if more > 0:
            return _("The model finds the first text {times} times as likely as the second", times=times)
        return _("The model finds the second text {times} times as likely as the first", times=times)
    if more > 0:
        return _(
            "The model finds the first text {times} times as likely as the second; per token it is less surprised by "
            "the second, which is longer",
            times=times,
        )
    return _(
        "The model finds the second text {times} times as likely as the first; per token it is less surprised by the "
        "first, which is longer",
        times=times,
    )


def safe_cell(value: Any) -> str:
    """A cell of a CSV file; one that a spreadsheet would take for a formula gets an `'` in front."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(_STARTS_A_FORMULA) else text
