"""Cut-offs on the few tokens that top-k leaves are those of transformers' warpers on the whole vocabulary."""

import pytest
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from models.decoding.nucleus import Nucleus
from models.decoding.scores import scores_of

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
        shares = dense(Nucleus(temperature, top_k, top_p).cut(scores_of(logits[None])[0]))
        assert torch.equal(shares > 0, expected > 0)
        torch.testing.assert_close(shares, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("barred", [[0], [3, 299], list(range(0, 300, 2))], ids=len)
@pytest.mark.parametrize("top_k", [1, 7, 50, VOCABULARY])
def test_barred_tokens_leave_their_places_to_others(barred: list[int], top_k: int) -> None:
    logits = 3 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(2))
    without = logits.clone()
    without[barred] = float("-inf")
    shares = dense(Nucleus(0.8, top_k, 0.9).cut(scores_of(logits[None])[0], barred))
    torch.testing.assert_close(shares, dense(Nucleus(0.8, top_k, 0.9).cut(scores_of(without[None])[0])))
    assert not shares[barred].any()


def dense(left: dict[int, float]) -> torch.Tensor:
    return torch.zeros(VOCABULARY).scatter_(0, torch.tensor(list(left)), torch.tensor(list(left.values())))


@pytest.mark.parametrize("top_p", [0.3, 0.95])
def test_the_same_tokens_are_drawn_as_torch_draws(top_p: float) -> None:
    ours, theirs = (torch.Generator().manual_seed(4) for _ in range(2))
    drawn, expected = [], []
    nucleus = Nucleus(1.0, 50, top_p)
    for seed in range(200):
        logits = torch.randn(1, VOCABULARY, generator=torch.Generator().manual_seed(seed))
        left = nucleus.cut(scores_of(logits)[0])
        drawn.append(nucleus.draw(left, VOCABULARY, ours))
        expected.append(int(torch.multinomial(dense(left), 1, generator=theirs)))
    assert drawn == expected and len(set(drawn)) > 20


def test_the_likeliest_token_stays_whatever_is_cut_off() -> None:
    left = Nucleus(1.0, 5, 0.01).cut(scores_of(torch.tensor([[0.0, 3.0, 1.0, 2.0]]))[0])
    assert left == {1: 1.0}
