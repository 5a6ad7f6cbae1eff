"""Rank correlation against examples worked by hand, and attention received behind a mask."""

import numpy as np
import pytest

from models.explain.aggregation import agreement, rank_correlation, received
from models.outputs import Attribution, Token


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([0.1, 0.2, 100], [1, 2, 3], 1.0),
        # Ranks 2, 1, 3, 5, 4: 1 - 6 * (1 + 1 + 0 + 1 + 1) / (5 * 24).
        ([1, 2, 3, 4, 5], [2, 1, 3, 6, 5.5], 0.8),
        # Ranks 1.5, 1.5, 3 and 1, 2, 3: 1.5 / sqrt(1.5 * 2).
        ([7, 7, 9], [1, 2, 3], 1.5 / 3**0.5),
        ([5, 5, 5], [1, 2, 3], None),
        ([1, 2], [1, 2], None),
        ([], [], None),
    ],
)
def test_ranks_decide_and_equal_values_share_theirs(
    first: list[float], second: list[float], expected: float | None
) -> None:
    found = rank_correlation(first, second)
    assert found == (expected if expected is None else pytest.approx(expected))


def test_attention_received_is_a_mean_over_those_that_may_look() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25]], dtype=np.float32)
    ahead = np.triu(np.ones((3, 3), dtype=bool), k=1)
    np.testing.assert_allclose(received(weights, ahead), [1.75 / 3, 0.5, 0.25])
    np.testing.assert_allclose(received(weights, np.zeros_like(ahead)), [1.75 / 3, 1 / 3, 0.25 / 3])


def test_agreement_takes_the_size_of_scores_over_the_words_of_the_text() -> None:
    names = ("[CLS]", "a", "b", "c", "[SEP]")
    tokens = tuple(Token(name, name, 1, special=name[0] == "[") for name in names)
    scores = (0.0, -3.0, 2.0, 1.0, 0.0)
    attribution = Attribution(tokens, scores, "positive", "made up", 0.0, 1.0, 0.0, "[MASK]", 1)
    row = [0.5, 0.1, 0.07, 0.03, 0.2, 0.1]
    weights = np.tile(np.array(row, dtype=np.float32), (6, 1))
    masked = np.zeros((6, 6), dtype=bool)
    assert agreement(attribution, weights, masked) == pytest.approx(1.0)
    weights[:, [1, 3]] = weights[:, [3, 1]]
    assert agreement(attribution, weights, masked) == pytest.approx(-1.0)
