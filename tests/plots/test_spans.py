import pytest

from demo.plots.change import span_probabilities
from tests.plots.made_up import answer_over


def test_starts_point_up_and_ends_point_down_by_their_probability() -> None:
    starts, ends = [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.6, 0.2]
    start, end = span_probabilities(answer_over("[CLS] who came ?", starts, ends)).data
    assert list(start.y) == pytest.approx(starts)
    assert list(end.y) == pytest.approx([-value for value in ends])
    assert list(end.customdata) == pytest.approx(ends), "what is read on hover is no negative number"


def test_every_token_has_its_bar() -> None:
    words = " ".join(["same"] * 300)
    start, _ = span_probabilities(answer_over(words, [1 / 300] * 300, [1 / 300] * 300)).data
    assert len(set(start.x)) == 300
