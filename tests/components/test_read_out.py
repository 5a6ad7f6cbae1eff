"""What stands under a picture says what cannot be seen in it."""

import pytest

from demo.plots.view import shown, view_of
from demo.reader.sentence import said
from tests.plots.made_up import attention_over, tokens_of


def test_beyond_512_tokens_a_sentence_says_what_was_left_out() -> None:
    left_out = "The text is too long to be shown whole: the pictures have its first 512 words or tokens."
    longer, whole = (
        view_of({"encoder": attention_over(tokens_of(" ".join(["w"] * count)), layers=1, heads=1)})
        for count in (520, 512)
    )
    assert left_out in said(shown(longer), None)
    assert left_out not in said(shown(whole), None)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("maximum", "the head that looks hardest, so a row may add up to more than 100&nbsp;%"),
        ("rollout", "Rollout follows the weights from layer to layer"),
    ],
)
def test_what_brings_heads_together_is_said_where_it_is_chosen(how: str, sentence: str) -> None:
    attentions = {"encoder": attention_over(tokens_of("so it goes"))}
    assert sentence in said(shown(view_of(attentions, how=how)), None)
    assert sentence not in said(shown(view_of(attentions, how="mean")), None)


def test_what_the_model_has_no_token_for_is_explained_where_it_is_shown() -> None:
    explained = "“[UNK]” stands for something in the text that this model has no token for"
    with_emoji, without = (
        view_of({"encoder": attention_over(tokens_of(text))}) for text in ("[CLS] so [UNK] [SEP]", "[CLS] so it [SEP]")
    )
    assert said(shown(with_emoji, specials=False), None).count(explained) == 1
    assert explained not in said(shown(without), None)
