"""Questions about a run: the right choice, and numbers that are the run's own."""

import numpy as np
import pytest

from demo.tour import questions
from demo.tour.questions import NO_ANSWER, Look
from models.errors import InputError
from models.outputs.attention import MEAN, Attention
from models.outputs.base import LoadedCheckpoint, Prediction, Token
from models.outputs.encoders import Answer, FillMaskOutput, QuestionAnsweringOutput, SentimentOutput
from models.outputs.surprise import MeasuredText, SurpriseOutput, TokenSurprise
from models.outputs.writing import Alternative, CompletionOutput, GeneratedToken
from tests.plots.made_up import tokens_of

USED = LoadedCheckpoint("a-model", "0123456789ab", "Apache-2.0")


def said(sentence: str) -> str:
    """A sentence with plain spaces before its percent signs."""
    return sentence.replace("\u202f", " ")


def test_the_likeliest_label_is_right() -> None:
    scores = (Prediction("negative", 0.26), Prediction("positive", 0.74))
    asked = questions.label(SentimentOutput(USED, (), "positive", scores))
    assert (asked.choices, asked.right) == (("negative", "positive"), "positive")
    assert said(asked.because) == "The model gives “positive” 74 % of its probability, “negative” 26 %."


def filled(*words: tuple[str, float]) -> FillMaskOutput:
    return FillMaskOutput(USED, (), (tuple(Prediction(*each) for each in words),), ())


def test_the_word_that_was_blanked_out_is_among_the_choices_and_is_told_of() -> None:
    output = filled(("tea", 0.5), ("coffee", 0.2), ("water", 0.1), ("milk", 0.05), ("wine", 0.04))
    asked = questions.blank(output, "soup")
    assert (asked.choices, asked.right) == (("coffee", "soup", "tea", "water"), "tea")
    assert said(asked.because) == (
        "The model gives “tea” 50 % of its probability, “coffee” 20 %, “water” 10 %. "
        "Your own word “soup” is not among its first 5."
    )
    assert said(questions.blank(output, "wine").because).endswith("Your own word “wine” has 4.0 %.")
    assert questions.blank(output, "Milk").choices == questions.blank(output).choices


def test_what_comes_next_is_the_likeliest_token_and_not_the_one_that_was_drawn() -> None:
    others = (Alternative(" big", 0.3), Alternative(" hot", 0.2))
    drawn = GeneratedToken(Token(" odd", "Ġodd", 3), 0.01, others)
    asked = questions.following(CompletionOutput(USED, (), " odd", (drawn,)))
    assert (asked.choices, asked.right) == (("big", "hot", "odd"), "big")
    assert said(asked.because) == "The model gives “big” 30 % of its probability, “hot” 20 %, “odd” 1.0 %."


@pytest.mark.parametrize(("nowhere", "right"), [(0.1, "the children"), (0.8, NO_ANSWER)])
def test_the_answer_is_a_place_or_nowhere(nowhere: float, right: str) -> None:
    spans = (Answer("the children", 0.7, 0, 12), Answer("film", 0.05, 20, 24))
    asked = questions.answer(QuestionAnsweringOutput(USED, (), spans, nowhere, (), (), 1))
    assert (asked.choices, asked.right) == (("film", "the children", NO_ANSWER), right)
    shares = f"“the children” 70 % of its probability, “film” 5.0 %, and “no answer” {round(100 * nowhere)} %."
    assert said(asked.because) == f"The model gives {shares}"


def test_a_words_surprise_is_that_of_its_tokens_together() -> None:
    counted = tuple(
        TokenSurprise(Token(text, text.replace(" ", "Ġ"), place), 0.5, 1, bits, place, ())
        for place, (text, bits) in enumerate(((" cold", 6.0), (" s", 5.0), ("oup", 2.5), (".", 1.0)))
    )
    asked = questions.surprise(SurpriseOutput(USED, (), MeasuredText(counted, None), None, "", 512, USED))
    assert (asked.choices, asked.right) == ((".", "cold", "soup"), "soup")
    assert asked.because == "Bits of surprise: “soup” 7.5 (“s” 5.0 + “oup” 2.5), “cold” 6.0, “.” 1.0."


def attention(*heads: list[list[float]], text: str = "[CLS] animal tired it [SEP]") -> dict[str, Attention]:
    """One layer over a text whose words are tokens, with these heads `[query][key]`."""
    tokens = tokens_of(text)
    nothing = np.zeros((len(tokens), len(tokens)), dtype=bool)
    return {"encoder": Attention("encoder", np.array([heads], dtype=np.float32), tokens, tokens, nothing)}


EVEN = [0.2] * 5
NEXT_DOOR = [EVEN, EVEN, EVEN, [0.1, 0.1, 0.6, 0.1, 0.1], EVEN]
FAR = [EVEN, EVEN, EVEN, [0.3, 0.48, 0.12, 0.1, 0.0], EVEN]


def test_a_word_looks_at_what_gets_most_of_it_marks_left_aside() -> None:
    asked = questions.looks(attention(FAR), Look(3, 0, 0))
    assert (asked.choices, asked.right) == (("animal", "tired"), "animal")
    assert said(asked.because) == "“it” gives 48 % of its weight to “animal”, 12 % to “tired” in layer 1, head 1."
    assert (asked.look, asked.word) == (Look(3, 0, 0), "it")
    assert "on average over all layers and heads" in questions.looks(attention(FAR), Look(3, MEAN, MEAN)).because


def test_the_word_to_ask_about_is_not_the_one_that_is_seen_already() -> None:
    animal = [EVEN, [0.0, 0.1, 0.9, 0.0, 0.0], *FAR[2:]]
    assert questions.word_to_ask(attention(animal), 0, 0).query == 1
    assert questions.word_to_ask(attention(animal), 0, 0, seen="animal").query != 1


def test_the_head_to_turn_to_looks_from_a_pronoun_at_a_word_further_away() -> None:
    assert questions.head_to_ask(attention(NEXT_DOOR, FAR), 0, 0) == Look(3, 0, 1)


@pytest.mark.parametrize("find", [questions.word_to_ask, questions.head_to_ask])
def test_one_word_has_nothing_to_look_at(find: object) -> None:
    assert callable(find)
    with pytest.raises(InputError, match="too few words"):
        find(attention([[0.3, 0.4, 0.3]] * 3, text="[CLS] Fine [SEP]"), 0, 0)


def test_a_word_beyond_the_text_is_refused() -> None:
    with pytest.raises(InputError):
        questions.looks(attention(FAR), Look(99, 0, 0))
