"""Scores in 8 bits: the best are exact, all others near, and nothing is rounded where nobody asked for it."""

import pytest
import torch
from torch import Tensor

from models.coarse_scores import EXACT, MOST_ROWS, CoarseScores, can_be_coarse
from models.layout import quickly

VOCABULARY, WIDTH = 5000, 64


def weight() -> Tensor:
    made = torch.randn(VOCABULARY, WIDTH, generator=torch.Generator().manual_seed(0))
    # Words that are hardly ever written have short vectors, those of others are long.
    return made * torch.linspace(0.01, 3, VOCABULARY)[:, None]


pytestmark = pytest.mark.skipif(not can_be_coarse(weight()), reason="this processor has no products of 8 bits")


@pytest.mark.parametrize("bias", [None, torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(1))])
@pytest.mark.parametrize("shape", [(1, WIDTH), (2, 3, WIDTH), (MOST_ROWS, WIDTH)])
def test_the_best_are_exact_and_the_rest_is_near(bias: Tensor | None, shape: tuple[int, ...]) -> None:
    coarse = CoarseScores(weight(), bias)
    # One text speaks louder than another: each has a scale of its own.
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    x = x * torch.logspace(-2, 2, x.numel() // WIDTH).view(*shape[:-1], 1)
    with torch.inference_mode():
        exact = torch.nn.functional.linear(x, weight(), bias)
        scores = coarse.product(x)
    assert scores.shape == exact.shape
    best = exact.topk(EXACT // 4, dim=-1)
    assert torch.equal(scores.topk(EXACT // 4, dim=-1).indices, best.indices)
    torch.testing.assert_close(scores.gather(-1, best.indices), best.values, atol=1e-4, rtol=1e-5)
    off = (scores - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert 0 < off.max() < 0.02


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    coarse = CoarseScores(weight(), None)
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(3)) * torch.tensor(
        [[1.0], [100.0], [0.01], [5.0]]
    )
    with torch.inference_mode():
        together, alone = coarse.product(x), torch.cat([coarse.product(row[None]) for row in x])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-5)


def test_a_row_of_zeros_scores_zero() -> None:
    with torch.inference_mode():
        assert not CoarseScores(weight(), None).product(torch.zeros(1, WIDTH)).any()


def test_it_steps_aside() -> None:
    coarse, few = CoarseScores(weight(), None), torch.ones(1, WIDTH)
    with torch.inference_mode():
        assert not coarse.suits(few), "nobody asked for it"
        with quickly():
            assert coarse.suits(few)
            assert not coarse.suits(torch.ones(MOST_ROWS + 1, WIDTH))
            assert not coarse.suits(few.double())
    with quickly():
        assert not coarse.suits(few), "a gradient is wanted"


def test_a_small_vocabulary_is_read_whole() -> None:
    assert not can_be_coarse(torch.ones(100, WIDTH))
