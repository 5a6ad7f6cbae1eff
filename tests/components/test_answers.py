import re
from datetime import UTC, datetime

import pytest

from demo.log.answers import dump_answer
from demo.log.run import Run
from demo.tabs import fill_mask, question_answering, sentiment, translation
from demo.widgets.bars import bars
from demo.widgets.runs import run_header, run_list
from demo.writing.text import written_text
from models.outputs import (
    Alternative,
    Answer,
    CompletionOutput,
    FillMaskOutput,
    GeneratedToken,
    LoadedCheckpoint,
    Prediction,
    QuestionAnsweringOutput,
    SentimentOutput,
    Token,
    TranslationOutput,
    WordStanding,
)
from models.registry import Task

CHECKPOINT = LoadedCheckpoint("clearhead-minilm", "0123456789abcdef", "Apache-2.0")
NASTY = "<script>alert('x')</script>"


def plain(markup: str) -> str:
    return markup.replace("\u202f", " ")


def failed_run(**changes: object) -> Run:
    fields: dict[str, object] = {
        "id": "1", "session_id": "s", "task": Task.SENTIMENT, "checkpoint": "clearhead-sentiment",
        "revision": "0123456789abcdef", "license": "Apache-2.0", "inputs": {"text": NASTY}, "parameters": {},
        "seed": None, "answer": None, "duration_ms": 41.2, "error": "Please type something first.",
        "created_utc": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    }  # fmt: skip
    return Run(**fields | changes)  # type: ignore[arg-type]


def generated(*texts: str) -> tuple[GeneratedToken, ...]:
    return tuple(GeneratedToken(Token(text, text, 0), 0.5, (Alternative(NASTY, 0.25),)) for text in texts)


def test_a_bar_is_as_long_as_its_share() -> None:
    assert "width:62.00%" in bars([Prediction("key", 0.62)], "words")


@pytest.mark.parametrize(
    "markup",
    [
        bars([Prediction(NASTY, 0.5)], "words"),
        run_header(failed_run(checkpoint=NASTY, revision=NASTY, license=NASTY)),
        run_list((failed_run(error=NASTY),)),
        written_text(NASTY, CompletionOutput(CHECKPOINT, (), NASTY, generated(NASTY))),
        fill_mask.draw_answer(
            FillMaskOutput(
                CHECKPOINT, (), ((Prediction(NASTY, 0.5),),), (Prediction(NASTY, 0.5),),
                (WordStanding(NASTY, (NASTY,), None, None),),
            )
        ),
        sentiment.draw_answer(SentimentOutput(CHECKPOINT, (), NASTY, (Prediction(NASTY, 1.0),))),
        translation.draw_answer(TranslationOutput(CHECKPOINT, (), (Prediction(NASTY, -1.0),) * 2, ())),
        question_answering.draw_answer(
            NASTY, QuestionAnsweringOutput(CHECKPOINT, (), (Answer(NASTY, 0.9, 0, 5),), 0.1, (), (), 1)
        ),
    ],
)  # fmt: skip
def test_nothing_from_a_visitor_or_a_model_is_markup(markup: str) -> None:
    assert "<script" not in markup
    assert "alert(&#x27;x&#x27;)" in markup


def test_the_header_names_checkpoint_revision_licence_and_duration() -> None:
    header = run_header(failed_run())
    for said in ("Clearhead Sentiment", "01234567", "Apache-2.0", "41 ms"):
        assert said in header
    assert "Recorded" not in header
    assert "Recorded example" in run_header(failed_run(), recorded=True)


def test_the_header_says_which_html_entities_were_read_as_typed() -> None:
    typed = "Salt &amp; vinegar&nbsp;&#39;crisps&#X27; &quot;now&quot;"
    header = run_header(failed_run(inputs={"text": typed}))
    assert "The model read “&amp;amp;”, “&amp;nbsp;”, “&amp;#39;” and others as typed, not as" in header
    output = SentimentOutput(CHECKPOINT, (), "positive", (Prediction("positive", 1.0),))
    spoken = run_header(failed_run(inputs={"question": "Who?", "context": "&lt;b&gt;"}), output)
    assert re.search(r'data-said="Answer: [^"]* The model read “&amp;lt;”, “&amp;gt;” as typed', spoken)
    for plain_text in ("AT&T; R&D; Q&A", "fish & chips; tea", "&amp without its semicolon", "&#; &notit;"):
        assert "as typed" not in run_header(failed_run(inputs={"text": plain_text}))


def test_the_header_names_precision_and_engine_of_an_answer_and_none_of_a_failed_run() -> None:
    for named, engine, by in (
        ("float32", "torch", "PyTorch"), ("float16", "openvino", "OpenVINO"), ("bfloat16", "openvino", "OpenVINO")
    ):  # fmt: skip
        used = LoadedCheckpoint("clearhead-sentiment", "0123456789ab", "Apache-2.0", named, engine)
        output = SentimentOutput(used, (), "positive", (Prediction("positive", 1.0),))
        assert re.search(
            rf'41 ms in <abbr title="computed by {by}; [^>]*>{named}</abbr>',
            run_header(failed_run(answer=dump_answer(output))),
        )
    assert "float" not in run_header(failed_run())


def test_the_visitors_word_is_told_by_its_probability_and_rank() -> None:
    standing = WordStanding("knob", ("knob",), 0.18, 2)
    output = FillMaskOutput(CHECKPOINT, (), ((Prediction("key", 0.62),),), (Prediction("a key", 0.62),), (standing,))
    assert "“<bdi>knob</bdi>” 18 % of its probability: number 2 on its list" in plain(fill_mask.draw_answer(output))


def test_the_answer_is_marked_where_it_stands() -> None:
    answer = Answer("Venice", 0.8, 9, 15)
    output = QuestionAnsweringOutput(CHECKPOINT, (), (answer,), 0.1, (), (), 1)
    assert "He left &amp;<mark>Venice</mark>." in question_answering.draw_answer(
        "He left &Venice.", QuestionAnsweringOutput(CHECKPOINT, (), (answer,), 0.1, (), (), 1)
    ) and "No answer" in question_answering.draw_answer("He left &Venice.", output)


def test_an_answer_is_shown_where_all_places_together_are_likelier_than_none() -> None:
    output = QuestionAnsweringOutput(CHECKPOINT, (), (Answer("Venice", 0.3, 0, 6),), 0.4, (), (), 1)
    shown = plain(question_answering.draw_answer("Venice.", output))
    assert "“<bdi>Venice</bdi>” has 30 % of the probability" in shown and "<mark>Venice</mark>" in shown
    assert "All places of the text together have 60 % of the probability, and “no answer” has 40 %" in shown
    assert re.search(r'<li class="wins"><span class="bar-name"><bdi>Venice</bdi>', shown)


def test_no_answer_is_said_when_it_is_likelier() -> None:
    output = QuestionAnsweringOutput(CHECKPOINT, (), (Answer("Venice", 0.2, 0, 6),), 0.7, (), (), 1)
    shown = plain(question_answering.draw_answer("Venice.", output))
    assert "No answer in this text: it has 70 % of the probability" in shown
    assert "<mark>" not in shown


def test_a_beams_score_is_said_as_the_average_probability_of_a_token() -> None:
    shown = translation.draw_answer(TranslationOutput(CHECKPOINT, (), (Prediction("Bonjour", -0.5),), ()))
    assert "gave each token of it 61 % of the probability" in plain(shown)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (" ran home.", (" ran", " home", ".")),
        ("ran home", ("ran", "home")),
        (" a 🦊 ran", (" a", " ðŁ", "¦Ĭ", " ran")),
        ("\n\nThe end", ("\n", "\n", "The", " end")),
    ],
)
def test_no_character_of_a_written_text_is_lost(text: str, texts: tuple[str, ...]) -> None:
    output = CompletionOutput(CHECKPOINT, (), text, generated(*texts))
    shown = written_text("", output)
    body = shown.split('<span class="prompt"></span>')[1].split("</p>")[0]
    assert re.sub(r"<[^>]+>", "", body.replace("<br>", "\n")) == text


def test_a_run_that_failed_is_listed_with_its_sentence() -> None:
    assert "Please type something first." in run_list((failed_run(),))


def test_history_says_when_runs_are_not_kept() -> None:
    assert "lost when this server restarts" in run_list((), kept=False)
    assert "lost when this server restarts" not in run_list((failed_run(),))
