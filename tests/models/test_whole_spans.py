"""Answers are whole numbers, e-mail addresses and URLs, and always exactly the characters that were typed."""

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import InputError
from models.outputs import QuestionAnsweringOutput
from models.registry import Task
from models.text.words import grown, whole_spans
from tests.models.conftest import BundledModel, TinyModel


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("It was -12 degrees, −5 °C or –7 in (-3).", ["-12", "−5 °C", "–7", "-3"]),
        ("+3 %, -9.4 % and 50%", ["+3 %", "-9.4 %", "50%"]),
        ("$1,000, €5, US$3.5 million, 5 €, -$20.", ["$1,000", "€5", "US$3.5", "5 €", "-$20"]),
        ("10-12 people, A-12, 1939-1945", ["10", "12", "12", "1939", "1945"]),
        ("192.168.0.1 at 10:30 on 2024-05-01.", ["192.168.0.1", "10:30", "2024-05-01"]),
        ("Write to <anna.berg+x@mail.co.uk>.", ["anna.berg+x@mail.co.uk"]),
        ("See (https://a.org/b_c?d=e#f), www.x.example/y!", ["https://a.org/b_c?d=e#f", "www.x.example/y"]),
        ("clearhead.org/help, or not. The end.Next", ["clearhead.org/help"]),
    ],
)
def test_numbers_and_addresses_are_found_whole(text: str, whole: list[str]) -> None:
    assert [text[start:end] for start, end in whole_spans(text)] == whole


def test_a_span_grows_over_what_it_begins_or_ends_in_and_over_nothing_else() -> None:
    whole = [(3, 6), (10, 15)]
    assert grown((4, 6), whole) == (3, 6)
    assert grown((5, 11), whole) == (3, 15)
    assert grown((6, 10), whole) == (6, 10)
    assert grown((0, 2), []) == (0, 2)


@pytest.mark.parametrize(
    ("context", "question", "answer"),
    [
        ("In January the temperature fell to -12 degrees.", "How cold did it get in January?", "-12 degrees"),
        ("Write to rosa@shop.example for a cake.", "What is the e-mail address?", "rosa@shop.example"),
        ("Pictures can be seen at www.fish.example/pictures all year.", "Where can pictures be seen?",
         "www.fish.example/pictures"),
        ("The shares dropped by −9.4 % on Tuesday.", "By how much did the shares drop?", "−9.4 %"),
    ],
)  # fmt: skip
def test_an_answer_is_a_whole_number_or_address(
    bundled: BundledModel, context: str, question: str, answer: str
) -> None:
    output = cast(QuestionAnsweringOutput, bundled("clearhead-qa")(question=question, context=context))
    assert output.answers[0].text == answer


PIECES = st.sampled_from([
    "lamp", "keeper ", "-12 ", "$1,000", " +3 %", "a@b.org", "www.x.org/y. ", "  ", "\n", "\t", "\u00a0", "e\u0301",
    "👨‍👩‍👧", "🦊", "ﬁ", "\u200d", "村", "\x07", "\x85", "İ", "نجيب", "—", ".", "(", "½",
])  # fmt: skip


@pytest.mark.parametrize("architecture", ["bert", "roberta"], ids=["word pieces", "bytes"])
@settings(max_examples=15, deadline=None)
@given(context=st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join))
def test_an_answers_text_is_what_was_typed_at_its_place(tiny: TinyModel, architecture: str, context: str) -> None:
    model = tiny(architecture, Task.QUESTION_ANSWERING)
    try:
        output = model(question="Who lit the lamp?", context=context, top_k=5)
    except InputError:
        return
    whole = whole_spans(context)
    for answer in output.answers:
        assert 0 <= answer.start < answer.end <= len(context)
        assert answer.text == context[answer.start : answer.end] == answer.text.strip()
        assert grown((answer.start, answer.end), whole) == (answer.start, answer.end)
    assert sum(answer.score for answer in output.answers) + output.no_answer_score <= 1 + 1e-6
