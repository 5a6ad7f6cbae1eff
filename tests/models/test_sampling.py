"""Sampling cuts off what transformers' warpers cut off, and draws what torch draws."""

from itertools import product

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from models.decoding.sampling import Sampling

VOCABULARY = 300


def random_logits(seed: int) -> torch.Tensor:
    return 3 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("top_k", [0, 1, 7, 50, VOCABULARY, 2 * VOCABULARY])
def test_shares_are_those_of_the_warpers(top_k: int) -> None:
    for temperature, top_p in product((0.3, 0.8, 2.0), (0.05, 0.6, 0.95, 1.0)):
        check_shares(temperature, top_k, top_p)


def check_shares(temperature: float, top_k: int, top_p: float) -> None:
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    sampling = Sampling(temperature, top_k, top_p, seed=0)
    for seed in range(5):
        logits = random_logits(seed)
        expected = warpers(torch.ones(1, 1, dtype=torch.long), logits[None].clone()).softmax(dim=-1)[0].numpy()
        shares = sampling.shares(logits.numpy())
        assert ((shares > 0) == (expected > 0)).all()
        np.testing.assert_allclose(shares, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("top_k", "top_p"), [(50, 0.3), (50, 0.95), (0, 1.0), (3, 1.0)])
@pytest.mark.parametrize("seed", [0, 4, 2**32 - 1])
def test_the_same_tokens_are_drawn_as_torch_draws(top_k: int, top_p: float, seed: int) -> None:
    sampling, theirs = Sampling(1.0, top_k, top_p, seed), torch.Generator().manual_seed(seed)
    drawn, expected = [], []
    for number in range(100):
        shares = sampling.shares(random_logits(number).numpy())
        drawn.append(sampling.draw(shares))
        expected.append(int(torch.multinomial(torch.from_numpy(shares), 1, generator=theirs)))
    assert drawn == expected and len(set(drawn)) > 20


def test_the_likeliest_token_stays_whatever_is_cut_off() -> None:
    shares = Sampling(1.0, 5, 0.01, seed=0).shares(np.array([0.0, 3.0, 1.0, 2.0], np.float32))
    assert shares.tolist() == [0, 1, 0, 0]
