"""Scores in 8 bits: the best are exact, all others near, and nothing is rounded where nobody asked for it."""

import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor

from models.coarse_scores import MOST_ROWS, CoarseScores, can_be_coarse
from models.layout import quickly
from models.scores import MOST

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
    best = exact.topk(MOST // 4, dim=-1)
    assert torch.equal(scores.topk(MOST // 4, dim=-1).indices, best.indices)
    torch.testing.assert_close(scores.gather(-1, best.indices), best.values, atol=1e-4, rtol=1e-5)
    off = (scores - exact).norm(dim=-1) / exact.norm(dim=-1)
    assert 0 < off.max() < 0.02


@pytest.mark.parametrize("instructions", ["AVX2", "AVX512_CORE"])
def test_the_same_where_sums_of_bytes_have_16_bits(instructions: str) -> None:
    these = f"{__file__}::{test_the_best_are_exact_and_the_rest_is_near.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", these]
    # oneDNN, in a process of its own, believes that there are no others.
    as_told = os.environ | {"ONEDNN_MAX_CPU_ISA": instructions}
    ran = subprocess.run(command, env=as_told, check=False, capture_output=True, text=True)  # noqa: S603 our own module
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("bias", [None, torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(1))])
@pytest.mark.parametrize("added", [None, torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(2))])
def test_the_best_at_hand_are_those_of_the_scores(bias: Tensor | None, added: Tensor | None) -> None:
    coarse = CoarseScores(weight(), bias)
    x = torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(4)) / 8
    with torch.inference_mode():
        found = coarse.best(x, added)
        exact = torch.nn.functional.linear(x, weight(), bias) + (0 if added is None else added)
    torch.testing.assert_close(found.ids[:, :20], exact.topk(20).indices)
    torch.testing.assert_close(found.logits.gather(1, found.ids), exact.gather(1, found.ids), atol=1e-4, rtol=1e-5)
    # What is left of the whole is shared in the same way, as near as 8 bits are.
    expected = exact.log_softmax(dim=1).gather(1, found.ids)
    torch.testing.assert_close(found.log_probabilities, expected, atol=1e-2, rtol=0)


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
