import pytest

from demo.plots.reading import percent, read_out, strongest_link
from demo.plots.view import shown, view_of
from models.explain.opening import Opening
from models.outputs.attention import MEAN
from tests.plots.made_up import attention_over, tokens_of


@pytest.mark.parametrize(
    ("share", "said"),
    [(1.0, "100 %"), (1 - 1e-7, "100 %"), (0.9999, "over 99.9 %"), (0.9996, "over 99.9 %"), (0.9994, "99.9 %"),
     (0.9937, "99.4 %"), (0.619, "62 %"), (0.0995, "10 %"), (0.034, "3.4 %"),
     (0.001, "0.1 %"), (0.0004, "under 0.1 %"), (0.0, "under 0.1 %")],
)  # fmt: skip
def test_a_share_is_said_with_as_many_figures_as_it_deserves(share: float, said: str) -> None:
    assert percent(share).replace("\u202f", " ") == said


def test_the_strongest_link_between_two_words_is_read_out() -> None:
    attention = attention_over(tokens_of("[CLS] it is an animal [SEP]"))
    attention.weights[1, 2] = 0.01
    attention.weights[1, 2, 1, 4] = 0.61
    attention.weights[1, 2, 3, 0] = 0.99
    view = view_of({"encoder": attention}, layer=1, head=2)
    assert strongest_link(view) == (1, 4)
    said = read_out(view).replace("\u202f", " ")
    assert said == "“it” gives 61 % of its weight to “animal” in layer 2, head 3; 2.0 % went to [CLS] and [SEP]."


def test_one_word_is_read_out_the_one_that_matters_with_what_marks_and_full_stops_got() -> None:
    attention = attention_over(tokens_of("[CLS] the dog barks . [SEP]"), layers=1, heads=1)
    attention.weights[0, 0, 2] = [0.4, 0.02, 0.1, 0.3, 0.1, 0.08]
    attention.weights[0, 0, 3] = [0.1, 0.1, 0.1, 0.7, 0, 0]

    def said(token: int, specials: bool = True) -> str:
        view = view_of({"e": attention}, "e", 0, 0, opened=Opening(token, 0, 0, 0))
        return read_out(shown(view, specials=specials)).replace("\u202f", " ")

    assert said(2) == "“dog” gives 30 % of its weight to “barks” in layer 1, head 1; 58 % went to [CLS], “.” and [SEP]."
    assert said(2, specials=False) == said(2), "damping takes colour away, and no weight from the sentence"
    assert said(3).startswith("“barks” gives 70 % of its weight to itself in layer 1, head 1; 10 % went")
    assert said(3, specials=False) == said(3)


@pytest.mark.parametrize(
    ("layer", "head", "place"),
    [(MEAN, MEAN, "on average over all layers and heads"), (0, MEAN, "in layer 1, on average over its heads"),
     (MEAN, 2, "in head 3, on average over all layers"), (1, 0, "in layer 2, head 1")],
)  # fmt: skip
def test_the_sentence_says_where_it_was_read(layer: int, head: int, place: str) -> None:
    assert read_out(view_of({"e": attention_over(tokens_of("a b"))}, "e", layer, head)).endswith(f"{place}.")
