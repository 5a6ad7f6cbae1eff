"""What a change did to an answer, said for each task."""

import re
from dataclasses import replace

import pytest

from demo.plots.change import ShareChange, share_changes, what_changed
from models.outputs import (
    Answer,
    CompletionOutput,
    FillMaskOutput,
    Prediction,
    QuestionAnsweringOutput,
    SentimentOutput,
    TaskOutput,
    Token,
    TranslationOutput,
)
from tests.plots.made_up import CHECKPOINT


def sentiment(positive: float) -> SentimentOutput:
    scores = (Prediction("negative", 1 - positive), Prediction("positive", positive))
    return SentimentOutput(CHECKPOINT, (), "positive" if positive > 0.5 else "negative", scores)


def blank(**words: float) -> FillMaskOutput:
    return FillMaskOutput(CHECKPOINT, (), (tuple(Prediction(word, score) for word, score in words.items()),), ())


def answer(text: str, score: float, none: float = 0.3) -> QuestionAnsweringOutput:
    return QuestionAnsweringOutput(CHECKPOINT, (), (Answer(text, score, 0, 1),), none, (), (), 1)


def translation(text: str) -> TranslationOutput:
    return TranslationOutput(CHECKPOINT, (), (Prediction(text, -0.1),), ())


def completion(text: str) -> CompletionOutput:
    return CompletionOutput(CHECKPOINT, (), text, ())


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (sentiment(0.9), sentiment(0.7), "The answer stays “positive”, with 70 % of the probability instead of 90 %."),
        (sentiment(0.9), sentiment(0.9), "Nothing that shows: “positive” keeps 90 % of the probability."),
        (sentiment(0.9), sentiment(0.2),
         "The answer turns from “positive” (90 %) into “negative” (80 %); “positive” falls to 20 %."),
        (blank(tea=0.4, ink=0.1), blank(ink=0.5, mud=0.2), "The answer turns from “tea” (40 %) into “ink” (50 %)."),
        (answer("Rome", 0.6), answer("Oslo", 0.1, none=0.7),
         "The answer turns from “Rome” (60 %) into “no answer in this text” (70 %)."),
        (translation("le chat noir"), translation("le chat"), "The text ends early, before “noir”."),
        (translation("le chat"), translation("le chien"), "The texts part at word 2: “chien” instead of “chat”."),
        (completion("so it was"), completion("so it was"), "Nothing that shows: the text is the same, word for word."),
        (completion("so"), completion("so it"), "The text goes on: “it” comes after what was its end."),
    ],
)  # fmt: skip
def test_the_change_is_said(before: TaskOutput, after: TaskOutput, said: str) -> None:
    assert re.sub("\u202f", " ", what_changed(before, after)) == said


def test_candidates_of_both_answers_stand_side_by_side_the_likeliest_afterwards_first() -> None:
    assert share_changes(blank(tea=0.4, ink=0.1), blank(ink=0.5, mud=0.2)) == (
        ShareChange(1, "ink", 0.1, 0.5),
        ShareChange(1, "mud", None, 0.2),
        ShareChange(1, "tea", 0.4, None),
    )
    assert share_changes(translation("le chat"), translation("le chien")) == ()


@pytest.mark.parametrize(("old", "new", "kept"), [("a _ of [M]", "a [M] of [M]", 1), ("[M] of a _", "[M] of a [M]", 0)])
def test_a_new_blank_is_not_compared_with_the_old_one(old: str, new: str, kept: int) -> None:
    tea, mud = (Prediction("tea", 0.4),), (Prediction("mud", 0.9),)
    before = replace(blank(tea=0.6), tokens=blanked(old))
    after = replace(before, tokens=blanked(new), predictions=(mud, tea) if kept else (tea, mud))
    assert share_changes(before, after) == (ShareChange(1, "tea", 0.6, 0.4),)
    assert "stays “tea”" in what_changed(before, after)


def blanked(text: str) -> tuple[Token, ...]:
    """Tokens for the words of `text`, `[M]` being a blank."""
    return tuple(
        Token(word, "[MASK]" if word == "[M]" else word, len(word) * 100 + ord(word[0]), special=word == "[M]")
        for word in text.split(" ")
    )
