"""What the service behind the tab Inside accepts, puts right and refuses; no network is loaded for that."""

from dataclasses import replace

import pytest

from demo.inside import MOST_TOKENS, Inside
from demo.inside_request import InsideRequest
from demo.recorded_inside import inside_examples, recorded_tokens
from demo.settings import Settings
from models.checkpoints import REGISTRY
from models.errors import InputError
from models.loading import ModelStore

PLAIN = InsideRequest("tokens", "A quiet street.", "clearhead-minilm", 2, 3, 1)


@pytest.fixture
def inside() -> Inside:
    return Inside(Settings(), ModelStore())


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ({}, (2, 3, 1)),
        ({"position": -1}, (2, 3, 5)),
        ({"position": -99}, (2, 3, 0)),
        ({"layer": 99, "head": 99, "position": 99}, (5, 11, 5)),
        ({"layer": -3, "head": -3}, (0, 0, 1)),
        ({"checkpoint": "clearhead-stories", "layer": 5, "head": 11}, (3, 5, 1)),
        ({"checkpoint": "clearhead-en-fr", "layer": 5, "head": 11}, (3, 7, 1)),
    ],
)
def test_a_place_that_is_not_there_becomes_one_that_is(
    inside: Inside, asked: dict[str, int], got: tuple[int, ...]
) -> None:
    request, place = inside.checked(replace(PLAIN, **asked))
    assert (request.layer, request.head, request.position) == got
    assert len(place.tokens.pieces) > request.position


@pytest.mark.parametrize(
    ("asked", "field", "sentence"),
    [
        ({"text": "   "}, "text", "is empty"),
        ({"text": "x" * 6000}, "text", "6,000 characters long"),
        ({"text": "word " * 70}, "text", f"at most {MOST_TOKENS} are drawn"),
        ({"text": "half \ud83d"}, "text", "half of a character"),
        ({"text": None, "checkpoint": "clearhead-minilm"}, "text", "is empty"),
        ({"checkpoint": "gpt5"}, "checkpoint", "no such model to look into"),
        ({"checkpoint": "gpt2"}, "checkpoint", "no such model to look into"),
        ({"layer": "one"}, "layer", "a whole number"),
        ({"position": 1.5}, "position", "a whole number"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence_about_its_field(
    inside: Inside, asked: dict[str, object], field: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        inside.checked(replace(PLAIN, **asked))  # type: ignore[arg-type]
    assert refused.value.field == field


def test_control_characters_are_read_as_spaces(inside: Inside) -> None:
    request, _ = inside.checked(replace(PLAIN, text="A\x00quiet\x1b street."))
    assert request.text == "A quiet  street."


def test_the_first_step_needs_no_network_and_is_as_recorded() -> None:
    store = ModelStore()
    inside = Inside(Settings(), store)
    request, _ = inside.checked(inside_examples()[0].request)
    assert inside.tokens(request) == recorded_tokens()
    assert not any(store.is_loaded(checkpoint) for checkpoint in REGISTRY.values())


def test_a_fault_of_ours_is_one_plain_sentence(inside: Inside) -> None:
    def fails(_model: object) -> None:
        raise RuntimeError("a detail for the log")

    with pytest.raises(InputError, match="on our side"):
        inside.ask(PLAIN, fails)
