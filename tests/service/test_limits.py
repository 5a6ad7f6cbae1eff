"""What visitors type is checked before a model sees it, and refused in one clear sentence."""

from typing import Any

import pytest

from demo.limits import FIELDS, clean, finite_number, plain_text, whole_number
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


def test_numbers_pass_and_take_their_type() -> None:
    cleaned = clean(Task.COMPLETION, {"prompt": "x", "top_k": 5.0, "temperature": 1}, LIMITS)
    assert cleaned == {"prompt": "x", "top_k": 5, "temperature": 1.0}
    assert [type(cleaned["top_k"]), type(cleaned["temperature"])] == [int, float]
    assert whole_number(3, "It", "it") == 3
    assert finite_number(0.5, "It", "it") == 0.5
    assert plain_text("x", "It", "it") == "x"
