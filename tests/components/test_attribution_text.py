"""Attribution in colours and in words: signs, sums over pieces, and what it says about attention."""

import re

import pytest

from demo.reader.attribution import attribution_text
from models.outputs import Attribution
from tests.plots.made_up import tokens_of


def made_up(text: str, *scores: float, target: str = "positive") -> Attribution:
    total = sum(scores)
    return Attribution(tokens_of(text), scores, target, "integrated gradients", 0.0, total - 1.0, -1.0, "[MASK]", 16)


def read(markup: str) -> str:
    return re.sub(r"<[^>]+>", "", markup).replace("\u2212", "-").replace("&quot;", '"')


def test_the_words_that_count_most_are_named_with_their_scores() -> None:
    said = read(attribution_text(made_up("[CLS] a joy not dull [SEP]", 0, 0.1, 1.5, -0.4, 0.2, 0), 0.14))
    assert "“joy” counts most for “positive” (+1.50), and “not” counts most against it (-0.40)." in said
    assert "is 0.40 with this text and -1.00 with every word blank" in said
    assert "difference of +1.40" in said
    assert "hardly agrees with" in said and "0.14" in said


def test_a_word_has_the_sum_of_its_pieces_and_special_tokens_are_left_out() -> None:
    markup = attribution_text(made_up("[CLS] a par ##rot [SEP]", 0, 0.1, 0.5, 0.25, 0), None)
    assert "parrot" in markup and "+0.75" in markup and "[CLS]" not in markup
    assert "##rot" in attribution_text(made_up("a par ##rot", 0.1, 0.5, 0.25), None, words=False)


def test_colours_go_both_ways_from_the_ground() -> None:
    markup = attribution_text(made_up("up even down", 2.0, 0.0, -1.0), None)
    words = re.findall(r'class="word" data-step="(-?\d)"', markup)
    assert words == ["7", "0", "-4"]


@pytest.mark.parametrize(
    ("agreement", "how"),
    [(0.9, "agrees with"), (0.3, "agrees somewhat with"), (0.0, "hardly agrees with"), (-0.7, "goes against")],
)
def test_agreement_is_said_in_words(agreement: float, how: str) -> None:
    assert f"order of words {how} the order" in attribution_text(made_up("a b c", 1, 2, 3), agreement)


def test_nothing_in_it_is_read_as_markup() -> None:
    markup = attribution_text(made_up("<img> <b>", 1.0, -1.0, target="<script>"), None)
    assert not re.search(r"<(img|b|script)>", markup)
