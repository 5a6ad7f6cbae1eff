"""What visitors type is checked before a model sees it, and refused in one clear sentence."""

import math
from typing import Any

import pytest

from demo.fields import FIELDS
from demo.limits import clean, finite_number, plain_text, whole_number
from demo.settings import Limits
from models.errors import InputError
from models.registry import Task

LIMITS = Limits(text=50, question=40, context=60, prompt=30, word=10)


def refused(task: Task, fields: dict[str, Any], limits: Limits = LIMITS) -> InputError:
    with pytest.raises(InputError) as caught:
        clean(task, fields, limits)
    sentence = caught.value.sentence
    assert sentence.endswith((".", "it."))
    assert "\n" not in sentence
    assert len(sentence) < 200
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "An ordinary sentence with a [MASK].",
        "שלום עולם, مرحبا",
        "🙂👩‍👩‍👧 emoji",
        "<script>alert(1)</script> & <b>bold</b>",
        "line one\nline two\tand a tab",
        "é as two characters: e\u0301",
    ],
)
def test_text_of_every_kind_passes_as_it_is(text: str) -> None:
    assert clean(Task.SENTIMENT, {"text": text}, LIMITS) == {"text": text}


def test_control_characters_become_spaces_and_move_nothing() -> None:
    context = "one\x00two\r\nthree\x1b[0m\x81"
    cleaned = clean(Task.QUESTION_ANSWERING, {"question": "what?", "context": context}, LIMITS)["context"]
    assert cleaned == "one two \nthree [0m "
    assert len(cleaned) == len(context)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00\x00", None])
def test_text_that_says_nothing_is_refused(text: str | None) -> None:
    error = refused(Task.SENTIMENT, {"text": text})
    assert error.field == "text"
    assert "empty" in error.sentence


def test_an_empty_prompt_and_an_empty_word_are_allowed() -> None:
    assert clean(Task.COMPLETION, {"prompt": ""}, LIMITS) == {"prompt": ""}
    assert clean(Task.FILL_MASK, {"text": "[MASK]", "word": ""}, LIMITS)["word"] == ""


@pytest.mark.parametrize(
    ("task", "field", "most"),
    [
        (Task.FILL_MASK, "text", 50),
        (Task.FILL_MASK, "word", 10),
        (Task.SENTIMENT, "text", 50),
        (Task.QUESTION_ANSWERING, "question", 40),
        (Task.QUESTION_ANSWERING, "context", 60),
        (Task.NAMES, "text", 50),
        (Task.TRANSLATION, "text", 50),
        (Task.COMPLETION, "prompt", 30),
        (Task.GENERATIONS, "changed", 50),
    ],
)
def test_each_text_has_its_own_limit_which_the_message_names(task: Task, field: str, most: int) -> None:
    fields = {name: "x" for name, known in FIELDS[task].items() if known.is_text}
    assert clean(task, fields | {field: "x" * most}, LIMITS)[field] == "x" * most
    error = refused(task, fields | {field: "x" * (most + 1)})
    assert error.field == field
    assert f"{most + 1} characters" in error.sentence
    assert f"at most {most} " in error.sentence


@pytest.mark.parametrize("text", ["\ud800", "half \udc00 a smile", "\ude00\ud83d"])
def test_half_a_character_is_refused(text: str) -> None:
    assert "half of a character" in refused(Task.SENTIMENT, {"text": text}).sentence


@pytest.mark.parametrize("value", [5, 1.5, True, ["a"], {"a": 1}, b"a"])
def test_text_of_a_wrong_type_is_refused(value: object) -> None:
    assert refused(Task.SENTIMENT, {"text": value}).sentence == "The text must be text."


@pytest.mark.parametrize("value", [True, False, "5", None, [5], {}, 2.5, math.nan, math.inf, -math.inf, 10**400])
def test_a_whole_number_must_be_one(value: object) -> None:
    error = refused(Task.FILL_MASK, {"text": "[MASK]", "top_k": value})
    assert error.field == "top_k"
    assert error.sentence == "The number of candidates must be a whole number."


@pytest.mark.parametrize("value", [True, "0.5", None, [0.5], math.nan, math.inf, 10**400])
def test_a_number_must_be_finite(value: object) -> None:
    error = refused(Task.COMPLETION, {"prompt": "", "temperature": value})
    assert (error.field, error.sentence) == ("temperature", "The temperature must be a number.")


def test_numbers_pass_and_take_their_type() -> None:
    cleaned = clean(Task.COMPLETION, {"prompt": "x", "top_k": 5.0, "temperature": 1}, LIMITS)
    assert cleaned == {"prompt": "x", "top_k": 5, "temperature": 1.0}
    assert [type(cleaned["top_k"]), type(cleaned["temperature"])] == [int, float]
    assert whole_number(3, "It", "it") == 3
    assert finite_number(0.5, "It", "it") == 0.5
    assert plain_text("x", "It", "it") == "x"
