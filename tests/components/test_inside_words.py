"""The list of words in the tab Inside: what its values stand for, whoever sends them."""

import gradio as gr
import pytest

from demo.recorded import inside_examples, recorded_tokens
from demo.walk.step import WordList, chosen_of, value_of, words_of
from demo.walk.view import ChosenWord, InsideRequest

REQUEST = InsideRequest("head", "A \ud83d text.", "clearhead-minilm", 1, 2, 3)


def test_each_value_stands_for_its_token_in_this_text_and_model() -> None:
    request, pieces = inside_examples()[0].request, recorded_tokens()[0].pieces
    words = words_of(request, pieces)
    chosen = [chosen_of(value) for _, value in words]
    assert [word.position for word in chosen if word] == list(range(len(pieces)))
    assert {(word.checkpoint, word.mark) for word in chosen if word} == {
        (request.checkpoint, ChosenWord.of(request).mark)
    }
    assert value_of(request) == words[request.position][1] or request.position < 0
    assert chosen_of(value_of(REQUEST)) == ChosenWord.of(REQUEST)


@pytest.mark.parametrize("value", [None, "", "4", 4, ["a"], {}, "a b c", "a b ²", "a b " + "9" * 5000, "a  b 1"])
def test_what_is_no_value_of_ours_stands_for_nothing(value: object) -> None:
    assert chosen_of(value) is None


def test_a_value_that_is_no_longer_offered_comes_through() -> None:
    made = WordList(words_of(REQUEST, recorded_tokens()[0].pieces), filterable=False)
    assert isinstance(made, gr.Dropdown)
    assert made.preprocess("clearhead-stories 123 4") == "clearhead-stories 123 4"
