"""The service of the tab Inside: the requests that it accepts, corrects and refuses, and its examples."""

import json
import re
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from demo.recorded import inside_examples, recorded_tokens
from demo.runs import DemoService
from demo.settings import Settings
from demo.tabs.inside import InsideTab
from demo.walk.attention import HEAD
from demo.walk.counting import COUNTING
from demo.walk.input import VECTORS
from demo.walk.layers import BLOCK, GUESS
from demo.walk.steps import as_json
from demo.walk.turning import create_patch
from demo.walk.view import MOST_TOKENS, ChosenWord, Inside, InsideRequest, checkpoints_inside, mark_of
from models.backend import LocalBackend
from models.engine import TORCH, EngineSettings
from models.errors import InputError
from models.loading import hub
from models.loading.assembly import wrap
from models.loading.store import ModelStore
from models.registry import REGISTRY
from tests.models.architectures import save_tiny

ANIMAL = "The animal didn't cross the street because it was too tired."
BLANK = "Paris is the [MASK] of France."
PLAIN = InsideRequest("tokens", "A quiet street.", "clearhead-minilm", 2, 3, 1)


@pytest.fixture
def inside(service: DemoService) -> Inside:
    return service.inside


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ({}, (2, 3, 1)),
        ({"position": -2}, (2, 3, 4)),
        ({"position": -99}, (2, 3, 0)),
        ({"layer": 99, "head": 99, "position": 99}, (5, 11, 5)),
        ({"layer": -3, "head": -3}, (0, 0, 1)),
        ({"checkpoint": "clearhead-stories", "layer": 9, "head": 11}, (7, 5, 1)),
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
    ("checkpoint", "text", "word"),
    [
        ("clearhead-minilm", "Paris is the [MASK] of France, a [MASK].", "[MASK]"),
        ("clearhead-minilm", "[CLS] the man [MASK] to the store [SEP] penguin [MASK] are birds [SEP]", "[MASK]"),
        ("clearhead-minilm", "A quiet street.", "street"),
        ("clearhead-minilm", "...", "."),
        ("clearhead-sentiment", "A quiet street.", "[CLS]"),
        ("clearhead-qa", "Where is it? [SEP] It is here.", "[CLS]"),
        ("clearhead-en-fr", "A quiet street.", "▁street"),
        ("clearhead-stories", "A quiet street,", ","),
    ],
)
def test_a_word_that_nobody_chose_is_where_the_model_guesses_or_the_last_one(
    inside: Inside, checkpoint: str, text: str, word: str
) -> None:
    request, place = inside.checked(InsideRequest("guess", text, checkpoint))
    pieces = [piece.piece for piece in place.tokens.pieces]
    assert pieces[request.position] == word
    assert word != "[MASK]" or request.position == pieces.index(word)


@pytest.mark.parametrize(
    ("chosen", "asked", "position"),
    [
        # The same text, in the same model and in others: "it" stays "it".
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL, "clearhead-minilm"), 10),
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL, "clearhead-sentiment"), 10),
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL, "clearhead-stories"), 8),
        ((ANIMAL, "clearhead-stories", 8), (ANIMAL, "clearhead-minilm"), 10),
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL, "clearhead-en-fr"), 8),
        # What another model chose, and a mark, are no choice of the visitor's.
        ((BLANK, "clearhead-minilm", 4), (BLANK, "clearhead-sentiment"), -1),
        ((ANIMAL, "clearhead-minilm", 15), (ANIMAL, "clearhead-stories"), -1),
        # Another text, whatever stands at that place in it.
        ((ANIMAL, "clearhead-minilm", 10), (BLANK, "clearhead-minilm"), -1),
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL + " ", "clearhead-minilm"), -1),
        # What cannot be read: the sentence about it comes later.
        ((" ", "clearhead-minilm", 0), (" ", "clearhead-stories"), -1),
        ((ANIMAL, "gpt5", 10), (ANIMAL, "clearhead-minilm"), -1),
        ((ANIMAL, "clearhead-minilm", 10), (ANIMAL, "gpt5"), -1),
    ],
)
def test_the_followed_word_stays_in_its_text_and_no_other(
    inside: Inside, chosen: tuple[str, str, int], asked: tuple[str, str], position: int
) -> None:
    text, checkpoint, place = chosen
    request = InsideRequest("head", *asked, 3, 1)
    followed = inside.follow(request, ChosenWord(checkpoint, mark_of(text), place))
    assert followed == replace(request, position=position)


@pytest.mark.parametrize(
    ("asked", "field", "sentence"),
    [
        ({"text": "   "}, "text", "is empty"),
        ({"text": "x" * 6000}, "text", "6,000 characters long"),
        ({"text": "word " * 70}, "text", f"at most {MOST_TOKENS} are drawn"),
        ({"text": "half \ud83d"}, "text", "half of a character"),
        ({"text": None, "checkpoint": "clearhead-minilm"}, "text", "is empty"),
        ({"checkpoint": "gpt5"}, "checkpoint", "no such model to look into"),
        ({"checkpoint": "albert-base-v2"}, "checkpoint", "no such model to look into"),
        ({"checkpoint": "gpt2"}, "checkpoint", "not on this host yet"),
        ({"layer": "one"}, "layer", "a whole number"),
        ({"position": 1.5}, "position", "a whole number"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence_about_its_field(
    inside: Inside, asked: dict[str, object], field: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "is_downloaded", lambda _checkpoint: False)
    with pytest.raises(InputError, match=sentence) as refused:
        inside.checked(replace(PLAIN, **asked))  # type: ignore[arg-type]
    assert refused.value.field == field


OF_THE_CHOSEN_MODEL = (VECTORS, HEAD, BLOCK, GUESS, COUNTING)


@pytest.mark.parametrize(
    ("name", "architecture", "text", "said"),
    [
        (
            "SmolLM2-135M",
            "llama",
            "The boats turned home",
            {
                "vectors": "adds nothing for the place",
                "head": "Heads 3 to 4 share these keys and values",
                "block": "SwiGLU",
                "guess": "Which word comes after",
                "counting": "24² + 24 · 12",
            },
        ),
        (
            "ModernBERT-base",
            "modernbert",
            "The boats [MASK] home",
            {
                "vectors": "adds nothing for the place",
                "head": "at most 3 tokens to either side",
                "block": "GeGLU",
                "guess": "Which word stands at",
                "counting": "task head",
            },
        ),
    ],
)
def test_published_models_of_todays_kind_are_shown_in_every_step(
    name: str, architecture: str, text: str, said: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a tiny random model of their architecture."""
    monkeypatch.setattr(hub, "is_downloaded", lambda _checkpoint: True)
    checkpoint, store = REGISTRY[name], ModelStore()
    folder = save_tiny(architecture, checkpoint.task, tmp_path)
    model = wrap(checkpoint, folder, "0" * 40, EngineSettings(TORCH))
    monkeypatch.setattr(store, "load", lambda *_asked: model)
    inside = Inside(Settings(), LocalBackend(store))
    with gr.Blocks():
        for step in OF_THE_CHOSEN_MODEL:
            request, place = inside.checked(InsideRequest(step.key, text, name, layer=1, head=2))
            assert (place.sizes.layers, place.sizes.heads) == (2, model.network.config.num_attention_heads)
            drawn = step.create(inside).draw(request)
            assert said[step.key] in "".join(each for each in drawn if isinstance(each, str))
            assert json.loads(as_json(step, request, step.numbers(inside, request)))["numbers"]


PATCH = ("The capital of *France* is [MASK].", "The capital of *Italy* is [MASK].")
GUITAR = "A man plays a guitar. [SEP] A man makes music."


@pytest.mark.parametrize("checkpoint", [each.name for each in checkpoints_inside() if not each.hub_id])
def test_every_bundled_model_has_something_to_turn_that_says_what_it_did(inside: Inside, checkpoint: str) -> None:
    turned = {"query": (7, 2.0), "layer": (0.0, 1.0), "temperature": (0.5,), "patch": PATCH}
    said = {
        "query": r"With number 7 of the query at [−\d.]+ instead of [−\d.]+, “.+” gives .+ to “.+” instead of ",
        "layer": r"With the feed-forward layer off in layer 2, the answer ",
        "patch": "By itself, the first sentence answers “.+” .+, the second “.+”|^$",
        "temperature": r"At T = 0\.50, “.+” has .+ of the probability, and the entropy is [\d.]+ bits; at T = 1 it is ",
    }
    with gr.Blocks():
        for step in (HEAD, BLOCK, GUESS):
            request, _ = inside.checked(InsideRequest(step.key, GUITAR, checkpoint, 1, 2))
            built = step.create(inside)
            drawn = built.draw(request)
            assert any(isinstance(each, str) and "read-out" in each for each in drawn)
            for turn in built.turns:
                shown = "".join(each for each in turn.draw(request, *turned[turn.name]) if isinstance(each, str))
                assert re.search(said[turn.name], re.sub("<[^>]+>", "", shown)), shown
                untouched = turn.draw(request, *(each.value for each in turn.inputs))  # type: ignore[attr-defined]
                shown = "".join(each for each in untouched if isinstance(each, str))
                for share, before in re.findall(r'bar-number">(.+?) <small>was (.+?)</small>', shown):
                    assert share == before


@pytest.mark.parametrize(
    ("checkpoint", "there", "here", "said"),
    [
        (
            "clearhead-minilm",
            *PATCH,
            "“france” put in as late as after layer 5 makes “paris” (81\u202f%) likelier than “rome”",
        ),
        ("clearhead-minilm", "A *cat* is [MASK].", "A *cat* is [MASK].", "so nothing can turn"),
        ("clearhead-sentiment", "It was *wonderful*.", "The film was *terrible*.", "makes “positive”"),
        (
            "clearhead-stories",
            "One day, *Lily* went to the park with [MASK]",
            "One day, *Tom* went to the park with [MASK]",
            "makes “her”",
        ),
        ("clearhead-minilm", "The capital of France is [MASK].", PATCH[1], "Please put asterisks around one word"),
        ("clearhead-minilm", "The *capital* of *France* is [MASK].", PATCH[1], "Please put asterisks around one word"),
        ("clearhead-minilm", "* * is [MASK].", PATCH[1], "Please put asterisks around one word"),
        ("clearhead-stories", "[MASK] is *France*", PATCH[1], "each sentence, before its blank"),
        ("clearhead-minilm", "One. [SEP] A *cat* is [MASK].", PATCH[1], "single sentences"),
        ("clearhead-minilm", "*word* " + "word " * 70, PATCH[1], "Please shorten it"),
        ("clearhead-qa", *PATCH, "Please choose a model"),
    ],
)
def test_a_word_is_carried_into_another_sentence_or_a_sentence_tells_what_is_wrong(
    inside: Inside, checkpoint: str, there: str, here: str, said: str
) -> None:
    with gr.Blocks():
        turn = create_patch(inside)
    request, _ = inside.checked(InsideRequest("guess", ANIMAL, checkpoint))
    notice, shown, figure = turn.draw(request, there, here)
    assert said in re.sub("<[^>]+>", "", shown or notice["value"])
    refused = isinstance(turn.numbers(request, there, here), str)
    assert (refused, refused, refused) == (bool(notice["value"]), figure is None, not shown)


def test_what_was_turned_is_saved_and_another_text_turns_it_back(service: DemoService) -> None:
    with gr.Blocks():
        tab = InsideTab(service)
    request = InsideRequest("head", ANIMAL, "clearhead-minilm", 3, 1, 10)
    own = {each.label: each.value for each in tab.own}
    own |= {"Query number": 7, "Added to it": 4.0}
    asked = [*tab.values(request), *own.values()]
    saved = json.loads(tab.numbers_file("head", *asked).text)["turned"]["query"]
    numbers = saved["numbers"]
    assert (saved["Query number"], saved["Added to it"], numbers["component"]) == (7, 4.0, 6)
    assert numbers["value"] == pytest.approx(numbers["query"][6] + 4)
    assert "With number 7 of the query at" in tab.page_file("head", *asked).text
    (turn,) = tab.built["head"].turns
    at_once = tab.show_turn(turn, "head", *asked)
    assert "With number 7 of the query at" in at_once[turn.outputs[1]]
    assert set(turn.outputs) <= set(at_once) <= {*turn.outputs, *tab.notices.values()}
    anew = tab.show_untouched("head", *asked)
    assert "as the model has it" in anew[turn.outputs[1]]
    assert [anew[each]["value"] for each in turn.inputs] == [1, 0]


def test_the_first_step_needs_no_network_and_is_as_recorded() -> None:
    store = ModelStore()
    inside = Inside(Settings(), LocalBackend(store))
    request, _ = inside.checked(inside_examples()[0].request)
    assert inside.tokens(request) == recorded_tokens()
    assert not any(store.is_loaded(checkpoint) for checkpoint in REGISTRY.values())
