"""The best tokens at hand are those of the whole vocabulary, and any other can be asked for."""

import pytest
import torch

from models.scores import MOST, scores_of, scores_of_each


@pytest.mark.parametrize("vocabulary", [5, MOST, 500])
def test_they_are_the_logarithms_of_all_probabilities(vocabulary: int) -> None:
    logits = 4 * torch.randn(3, vocabulary, generator=torch.Generator().manual_seed(0))
    expected = logits.log_softmax(dim=-1)
    for row, scores in enumerate(scores_of(logits)):
        assert list(scores.ids) == expected[row].argsort(descending=True)[:MOST].tolist()
        assert torch.equal(scores.logits, logits[row])
        found = [scores.log_probability(token) for token in range(vocabulary)]
        assert found == pytest.approx(expected[row].tolist(), abs=1e-5)


def test_texts_together_have_the_scores_that_each_has_alone() -> None:
    rows = torch.randn(4, 200, generator=torch.Generator().manual_seed(1)).split(1)
    for together, row in zip(scores_of_each(rows), rows, strict=True):
        (alone,) = scores_of_each([row])
        assert together.ids == alone.ids and together.log_probabilities == alone.log_probabilities
