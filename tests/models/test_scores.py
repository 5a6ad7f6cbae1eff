"""Probabilities and rankings in NumPy are torch's."""

import numpy as np
import pytest
import torch

from models.decoding.sampling import best, log_softmax, softmax, without


@pytest.mark.parametrize("vocabulary", [1, 5, 500])
def test_probabilities_are_torchs(vocabulary: int) -> None:
    logits = 40 * torch.randn(3, vocabulary, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(log_softmax(logits.numpy()), logits.log_softmax(-1).numpy(), atol=1e-4)
    np.testing.assert_allclose(softmax(logits.numpy()), logits.softmax(-1).numpy(), atol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 500, 900])
def test_the_best_come_in_order(count: int) -> None:
    scores = torch.randn(500, generator=torch.Generator().manual_seed(1))
    scores[::7] = float("-inf")
    expected = scores.topk(min(count, 500)).values.tolist()
    assert scores.numpy()[best(scores.numpy(), count)].tolist() == expected


def test_of_equal_scores_the_first_comes_first() -> None:
    assert best(np.array([1, 2, 2, 1, 2], np.float32), 4).tolist() == [1, 2, 4, 0]


def test_what_is_barred_is_left_out_unless_nothing_else_is_left() -> None:
    scores = np.array([1, 2, -np.inf], np.float32)
    assert without(scores, {1}).tolist() == [1, -np.inf, -np.inf]
    assert without(scores, {0, 1}) is scores
    assert scores.tolist() == [1, 2, -np.inf], "what came in is as it was"
