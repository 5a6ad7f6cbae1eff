"""The tours: shipped ones, a host's, which are read or refused in a sentence, and the sentences that cards derive."""

import json
from pathlib import Path
from typing import Any

import pytest

from demo.lectures import LectureError
from demo.settings import Limits
from demo.tour.files import beginning, left_out, tours_of, without_negation
from models.errors import InputError

GOOD: dict[str, Any] = {
    "title": "Mine",
    "sentence": "It was not good.",
    "cards": [
        {
            "title": "One",
            "text": "Look.",
            "do": "Read it.",
            "asks": "label",
            "question": "What is it?",
            "task": "sentiment",
            "fields": {"text": "{sentence}"},
            "example": {"text": "It was good."},
        }
    ],
}


def faulty(**change: object) -> dict[str, Any]:
    card = {**GOOD["cards"][0], **change}
    return GOOD | {"cards": [{name: value for name, value in card.items() if value is not None}]}


def test_a_host_adds_tours_and_replaces_a_namesake(tmp_path: Path) -> None:
    shipped = tours_of(None, Limits())
    for name in ("first-steps", "mine"):
        (tmp_path / f"{name}.json").write_text(json.dumps(GOOD))
    found = tours_of(str(tmp_path), Limits())
    assert [*found] == [*shipped, "mine"]
    assert found["first-steps"].title == "Mine"
    assert found["mine"].cards[0].filled("Mine {alone}.") == {"text": "Mine {alone}."}


def test_a_shipped_card_that_a_host_refuses_is_left_out_and_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tours = tours_of(None, Limits(question=5))
    assert len(tours["first-steps"].cards) == len(tours_of(None, Limits())["first-steps"].cards) - 1
    assert "first-steps.json goes without card 6: The question is 19 characters long" in caplog.text


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{", "invalid JSON"),
        (GOOD | {"cards": []}, "“cards”"),
        (faulty(title=None), "card 1, “title”, field required"),
        (faulty(asks="weather"), "card 1: A card cannot ask “weather”; there are label, "),
        (faulty(asks="blank"), "card 1: “blank” asks nothing about “sentiment”; there are fill_mask."),
        (faulty(fields={"tone": "x"}), "card 1: “sentiment” has no text “tone”; there are text."),
        (faulty(example={"text": " "}), "card 1: The text is empty."),
        (faulty(fields={"text": "{without_not}"}) | {"sentence": "Fine."}, "card 1: Your sentence has no “not”"),
    ],
)
def test_a_file_that_is_no_tour_is_refused_in_one_sentence(
    tmp_path: Path, written: str | dict[str, Any], said: str
) -> None:
    (tmp_path / "mine.json").write_text(written if isinstance(written, str) else json.dumps(written))
    with pytest.raises(LectureError) as refused:
        tours_of(str(tmp_path), Limits())
    assert str(refused.value).startswith("mine.json")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(LectureError, match=r"^CLEARHEAD_TOURS must name a folder, and '/no/such' is none\.$"):
        tours_of("/no/such", Limits())


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("It was not bad.", "It was bad."),
        ("I can't stand it.", "I can stand it."),
        ("They won’t come, and didn't call.", "They will come, and didn't call."),
        ("We didn't laugh.", "We did laugh."),
        ("I have never laughed.", "I have laughed."),
        ("Maybe not", "Maybe"),
    ],
)
def test_a_sentence_without_its_negation(text: str, without: str) -> None:
    assert without_negation(text) == without


@pytest.mark.parametrize("text", ["A nothing of a film.", "Knots and notes."])
def test_a_sentence_that_denies_nothing_is_said_to_be_one(text: str) -> None:
    with pytest.raises(InputError, match="has no “not”"):
        without_negation(text)


def test_a_sentence_up_to_its_last_word() -> None:
    assert beginning("The dog was too tired. ") == "The dog was too"
    with pytest.raises(InputError, match="too few words"):
        beginning("Too tired.")


@pytest.mark.parametrize(
    ("given", "gap", "word"),
    [
        ("The [MASK] was tired.", "[MASK]", "dog"),
        ("The dog was [MASK].", "[MASK]", "tired"),
        ("The dog was", "", "tired"),
        ("The dog", "", ""),
        ("A [MASK] was tired.", "[MASK]", ""),
        ("The dog was tired.", "", ""),
    ],
)
def test_the_word_that_a_text_leaves_out(given: str, gap: str, word: str) -> None:
    assert left_out("The dog was tired.", given, gap) == word
