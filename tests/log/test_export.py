"""Exported runs can be read back, and hold neither the session nor a spreadsheet formula."""

import csv
import io
import json

import pytest

from demo.log.export import answer_in_words, as_csv, as_json
from demo.log.run import dump_answer, load_answer
from models.outputs.base import LoadedCheckpoint, Prediction, TaskOutput, Token
from models.outputs.before import (
    CellsOutput,
    EarlyTranslation,
    GenerationRow,
    GenerationsOutput,
    TranslatorsOutput,
    WatchedCell,
)
from models.outputs.encoders import (
    Answer,
    Ending,
    EndingsOutput,
    FillMaskOutput,
    Name,
    NamesOutput,
    QuestionAnsweringOutput,
    SentencePairOutput,
    TokenLabel,
    WordStanding,
)
from models.outputs.surprise import (
    MeasuredText,
    PseudoPerplexity,
    SurpriseOutput,
    TokenSurprise,
    WrittenByFigures,
    WrittenByOutput,
)
from models.outputs.training import (
    Learned,
    LearnedPlace,
    PartGradient,
    Sample,
    TinyModelOutput,
    TrainingStepOutput,
)
from models.outputs.vectors import Judged, LearningCurve, Occurrence, Plane, TeachOutput, WordInContextOutput
from models.outputs.writing import Alternative, CompletionOutput, GeneratedToken, TranslationOutput
from models.registry import Task
from tests.log.runs import OUTPUT, failed_run, finished_run

_USED = LoadedCheckpoint("a-checkpoint", "main", "MIT")
_TOKENS = (Token("a", "▁a", 5, start=0, end=1),)
_LIKELY, _UNLIKELY = (
    MeasuredText((TokenSurprise(_TOKENS[0], 2**-bits, 3, bits, 1, (Prediction("b", 0.5),)),), PseudoPerplexity(8.0, 1))
    for bits in (1.0, 4.0)
)
OUTPUTS: dict[Task, tuple[TaskOutput, str]] = {
    Task.FILL_MASK: (
        FillMaskOutput(
            _USED,
            _TOKENS,
            ((Prediction("cat", 0.5),), (Prediction("dog", 0.25),)),
            (Prediction("a cat, a dog", 0.125),),
            (WordStanding("fox", ("fox",), 0.125, 3), WordStanding("vixen", ("vi", "##xen"), None, None)),
        ),
        "a cat, a dog",
    ),
    Task.SENTIMENT: (OUTPUT, "positive"),
    Task.QUESTION_ANSWERING: (
        QuestionAnsweringOutput(_USED, _TOKENS, (Answer("a", 0.75, 0, 1),), 0.125, (0.5,), (0.25,), 1),
        "a",
    ),
    Task.NAMES: (
        NamesOutput(
            _USED,
            _TOKENS,
            (Name("a", "person", 0.5, 0, 1),),
            ("O", "B-person"),
            (TokenLabel(_TOKENS[0], "a", "B-person", (0.25, 0.75)),),
            1,
        ),
        "a (person)",
    ),
    Task.SENTENCE_PAIR: (
        SentencePairOutput(
            _USED, _TOKENS, 0.75, (Prediction("entailment", 0.5),), 0.25, 0.6, ((0.6, 0.8), (1.0, 0.0)), (0,)
        ),
        "follows 75 %, entailment, says the same 25 %, cosine 0.60",
    ),
    Task.ENDINGS: (
        EndingsOutput(_USED, _TOKENS, (Ending("no", 0.25, -3.0), Ending("yes", 0.5, -4.0)), (1, 0), (0, 1), _USED),
        "yes",
    ),
    Task.TRANSLATION: (TranslationOutput(_USED, _TOKENS, (Prediction("un chat", -0.5),), _TOKENS), "un chat"),
    Task.COMPLETION: (
        CompletionOutput(
            _USED, _TOKENS, " cat", (GeneratedToken(_TOKENS[0], 0.5, (Alternative(" dog", 0.25),)),), finished=False
        ),
        " cat",
    ),
    Task.WORD_IN_CONTEXT: (
        WordInContextOutput(
            _USED,
            _TOKENS,
            "a",
            (Occurrence("A cat.", 0, 1, 1, (Prediction("the", 0.5),)), Occurrence("Be a dog.", 3, 4, 1, ())),
            (((1.0, 0.9), (0.9, 1.0)), ((1.0, 0.25), (0.25, 1.0))),
            (Plane(((0.1, 0.0), (0.2, 0.0)), (0.0, 0.5), (0.75, 0.25)),) * 2,
            (Prediction("an", 0.75),),
        ),
        "At layer 1 the word’s two vectors have a cosine of 0.25.",
    ),
    Task.TEACH: (
        TeachOutput(
            _USED,
            _TOKENS,
            labels=("cat", "dog"),
            predictions=(Judged("mew", "cat", (Prediction("cat", 0.75), Prediction("dog", 0.25))),),
            accuracy=0.5,
            chance=0.5,
            measured_on="kept",
            measured=2,
            mistakes=(Judged("a", "dog", (Prediction("cat", 0.25), Prediction("dog", 0.75)), "cat"),),
            curve=(LearningCurve("bert", (1, 2), (0.5, 0.75), (0.25, 0.0)),),
        ),
        "cat",
    ),
    Task.SURPRISE: (
        SurpriseOutput(_USED, _TOKENS, _LIKELY, _UNLIKELY, "<s>", 512, _USED),
        "The model finds the first text 8.0 times as likely as the second",
    ),
    Task.TRAINING_STEP: (
        TrainingStepOutput(
            _USED,
            _TOKENS,
            "masked",
            (LearnedPlace(1, "blanked", "[MASK]", 2.5, 0.08, 0.3, Prediction("a", 0.5)),),
            2.5,
            1.25,
            0.001,
            (PartGradient("layer 1", 3.5, 40),),
            True,
        ),
        "loss 2.50 nats before the step, 1.25 after it",
    ),
    Task.TINY_MODEL: (
        TinyModelOutput(
            _USED,
            (),
            9,
            "ab",
            90,
            10,
            7,
            (Learned(0, 0.7, 0.7, 0.5), Learned(7, 0.25, 0.9, 1.0)),
            (Sample(7, "abba"),),
            4,
            True,
        ),
        "loss from 0.70 to 0.25 nats in 7 steps; it writes: abba",
    ),
    Task.TRANSLATORS: (
        TranslatorsOutput(
            _USED,
            _TOKENS,
            (
                EarlyTranslation("dot", "LSTM", 2015, "A, 2015", 5, 31.5, "un un", _TOKENS, ((0.5, 0.5),), ((3, 5),)),
                EarlyTranslation("transformer", "Transformer", 2017, "B, 2017", 7, 60.0, "une", _TOKENS, (), ()),
            ),
            1,
            2,
        ),
        "LSTM: un un; Transformer: une",
    ),
    Task.WRITTEN_BY: (
        WrittenByOutput(_USED, _TOKENS, 0.834, 40, (0.25, 0.25, 0.25, 0.25, 0.0), WrittenByFigures(25, 0.25, 0.75)),
        "reads like a model’s text: 83 %",
    ),
    Task.GENERATIONS: (
        GenerationsOutput(
            _USED,
            _TOKENS,
            "negative",
            (Prediction("negative", 0.75), Prediction("positive", 0.25)),
            (
                GenerationRow("lstm", "LSTM", 1997, "A, 1997", 5, 82.5, 0.75, 0.25),
                GenerationRow("bert", "BERT", 2019, "B, 2019", 7, None, 0.25),
            ),
            ("zzyzx",),
        ),
        "LSTM: positive; BERT: negative",
    ),
    Task.CELLS: (
        CellsOutput(
            OUTPUT.checkpoint,
            (),
            "prose",
            "a\n",
            ("é",),
            (WatchedCell(7, "position in the line", -0.75, (0.5, -1.0)), WatchedCell(3, "", None, (0.0, 0.25))),
            ((Prediction("n", 0.5),), (Prediction("\n", 0.25),)),
        ),
        "cell 7: position in the line, correlation -0.75; cell 3",
    ),
}


@pytest.mark.parametrize("task", Task)
def test_an_answer_reads_back_as_the_typed_output_it_was(task: Task) -> None:
    output, words = OUTPUTS[task]
    through_json = json.loads(json.dumps(dump_answer(output)))
    assert load_answer(task, through_json) == output
    assert answer_in_words(output) == words


def test_answers_from_before_steps_were_kept_still_read_back() -> None:
    output, _ = OUTPUTS[Task.COMPLETION]
    answer = dump_answer(output)
    for token in answer["generated"]:
        for name in ("drawn", "left"):
            del token[name]
        for other in token["alternatives"]:
            del other["id"], other["drawn"]
    assert load_answer(Task.COMPLETION, answer) == output
    translated, _ = OUTPUTS[Task.TRANSLATION]
    answer = dump_answer(translated)
    del answer["generated"]
    assert load_answer(Task.TRANSLATION, answer) == translated


def test_an_answer_of_another_task_is_refused() -> None:
    with pytest.raises(ValueError, match="translations"):
        load_answer(Task.TRANSLATION, dump_answer(OUTPUT))


def test_json_holds_everything_but_the_session() -> None:
    run = finished_run("a", inputs={"text": "naïve"})
    (exported,) = json.loads(as_json([run]))
    assert exported["inputs"] == {"text": "naïve"}
    assert load_answer(Task(exported["task"]), exported["answer"]) == OUTPUT
    assert exported["created_utc"] == "2026-05-01T12:30:15.250000+00:00"
    assert run.session_id not in as_json([run]) + as_csv([run])


def test_csv_has_a_line_per_run_with_the_answer_in_words() -> None:
    text = 'commas, "quotes"\nand line breaks'
    lines = list(csv.DictReader(io.StringIO(as_csv([finished_run("a", inputs={"text": text}), failed_run("b")]))))
    assert [line["id"] for line in lines] == ["a", "b"]
    assert json.loads(lines[0]["inputs"]) == {"text": text}
    assert lines[0]["answer"] == "positive"
    assert (lines[1]["answer"], lines[1]["error"]) == ("", "The text is empty.")


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_of_the_csv_is_a_formula(formula: str) -> None:
    (line,) = csv.DictReader(io.StringIO(as_csv([failed_run("a", checkpoint=formula)]), newline=""))
    assert line["checkpoint"] == "'" + formula
