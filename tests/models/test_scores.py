"""The best tokens at hand are those of the whole vocabulary, and any other can be asked for."""

import pytest
import torch

from models.decoding.scores import MOST, Best, best_of, scores_of

PARTS = (slice(0, 1), slice(1, 4), slice(4, 5))


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
    texts = torch.randn(5, 200, generator=torch.Generator().manual_seed(1)).split([1, 3, 1])
    for together, text in zip(_parts(best_of(torch.cat(texts))), texts, strict=True):
        alone = best_of(text)
        assert torch.equal(together.logits, text)
        assert torch.equal(together.ids, alone.ids)
        assert torch.equal(together.log_probabilities, alone.log_probabilities)


def _parts(best: Best) -> list[Best]:
    return [Best(*(each[part] for each in (best.logits, best.ids, best.log_probabilities))) for part in PARTS]
