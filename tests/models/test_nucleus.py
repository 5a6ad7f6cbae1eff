"""Cut-offs on the few tokens that top-k leaves are those of transformers' warpers on the whole vocabulary."""

import pytest
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from models.nucleus import Nucleus

VOCABULARY = 300


@pytest.mark.parametrize("temperature", [0.3, 0.8, 2.0])
@pytest.mark.parametrize("top_k", [1, 7, 50, VOCABULARY, 2 * VOCABULARY])
@pytest.mark.parametrize("top_p", [0.05, 0.6, 0.95, 1.0])
def test_shares_are_those_of_the_warpers(temperature: float, top_k: int, top_p: float) -> None:
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k)])
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    for seed in range(5):
        logits = 3 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))
        expected = warpers(torch.ones(1, 1, dtype=torch.long), logits[None].clone()).softmax(dim=-1)[0]
        shares = Nucleus(temperature, top_k, top_p).shares(logits)
        assert torch.equal(shares > 0, expected > 0)
        torch.testing.assert_close(shares, expected, atol=1e-6, rtol=1e-5)


def test_the_likeliest_token_stays_whatever_is_cut_off() -> None:
    shares = Nucleus(1.0, 5, 0.01).shares(torch.tensor([0.0, 3.0, 1.0, 2.0]))
    assert shares.tolist() == [0.0, 1.0, 0.0, 0.0]
