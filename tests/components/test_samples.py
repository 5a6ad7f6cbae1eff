"""Texts beside one another, the strip of layers, and answers before and after a change."""

import pytest

from demo.reader.what_if import compared, side_by_side
from demo.writing.more_texts import beside, next_seed, seeds_from
from demo.writing.text import decided_strip
from models.outputs import CompletionOutput, GeneratedToken, LoadedCheckpoint, Prediction, SentimentOutput, Token

BY = LoadedCheckpoint("made-up", "0", "CC0-1.0")


def text_of(*words: str) -> CompletionOutput:
    generated = tuple(GeneratedToken(Token(f" {word}", f"Ġ{word}", hash(word)), 0.25, ()) for word in words)
    return CompletionOutput(BY, (), "".join(f" {word}" for word in words), generated)


def test_three_texts_are_marked_where_each_parts_from_the_others() -> None:
    texts = [text_of("a", "red", "fox", "ran"), text_of("a", "red", "hen", "sat"), text_of("a", "big", "hen", "ran")]
    shown = beside(texts, ["Seed 4", "Seed 5", "Seed 6"]).replace("\u202f", " ")
    assert "All 3 begin with the same token, then they part: “<bdi>red</bdi>” (25 %), “<bdi>big</bdi>” (25 %)" in shown
    assert "> a<mark> red</mark><mark> fox</mark> ran<" in shown
    assert "> a<mark> red</mark><mark> hen</mark> sat<" in shown
    assert "> a<mark> big</mark> hen ran<" in shown


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [("so it", "so it", "Both are the same text"), ("so it", "no it", "They part at the first token"),
     ("so it goes", "so it", "Both begin with the same 2 tokens, then they part: “<bdi>goes</bdi>” (25 %), the end")],
)  # fmt: skip
def test_where_two_texts_part_is_said(first: str, second: str, said: str) -> None:
    assert said in beside([text_of(*first.split()), text_of(*second.split())], ["1", "2"]).replace("\u202f", " ")


def test_seeds_follow_one_another_and_begin_again_after_the_last() -> None:
    assert [each["seed"] for each in seeds_from({"seed": 7})] == [7, 8, 9]
    assert next_seed({"seed": 2**32 - 1, "prompt": "x"}) == {"seed": 0, "prompt": "x"}


def test_the_strip_counts_layers_from_one_and_says_what_no_layer_decided() -> None:
    strip = decided_strip(text_of("a", "red", "fox"), [0, 3, None])
    assert ">1</span>" in strip and ">4</span>" in strip and ">–</span>" in strip
    assert "Half of the tokens by layer 1, 1 of 3 at none" in strip
    assert decided_strip(text_of("a"), ()) == "", "a run without layers has no strip"


def test_what_differs_between_two_texts_is_marked() -> None:
    shown = side_by_side("le chat <b> dort", "le chien <b> dort", ("Before", "After"))
    assert "le <mark>chat</mark> &lt;b&gt; dort" in shown and "le <mark>chien</mark> &lt;b&gt; dort" in shown


def test_shares_stand_side_by_side_with_the_way_that_they_went() -> None:
    before, after = (
        SentimentOutput(BY, (), label, (Prediction("good", good), Prediction("bad", 1 - good)))
        for label, good in (("good", 0.9), ("bad", 0.2))
    )
    shown = compared(before, after, "“dull” there").replace("\u202f", " ")
    assert shown.index("bad") < shown.index('<th scope="row"><bdi>good')
    assert "▲</span> 80 %" in shown and "▼</span> 20 %" in shown
