"""What a larger model expects: draws as its probabilities are."""

import copy

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from training.expectations import DRAWS, Expectations, draws

WORDS = 320


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # As large as in a trained model, and no vector is all ones.
            parameter.add_(torch.randn_like(parameter) * 0.08)
    return model


# Another order than the words' own.
ORDER = torch.arange(WORDS).flip(0)


def test_draws_are_as_many_as_a_probability_says() -> None:
    torch.manual_seed(0)
    hidden, head = torch.randn(300, 8), torch.randn(20, 8)
    drawn = draws(hidden, head, torch.rand(300))
    counts = torch.zeros(300, 20).scatter_add_(1, drawn, torch.ones(300, DRAWS))
    expected = (hidden @ head.T).softmax(-1) * DRAWS
    assert torch.equal(counts.sum(-1), torch.full((300,), float(DRAWS)))
    assert (counts - expected).abs().max() < 1
    assert (counts - expected).mean(0).abs().max() < 0.08


def test_what_is_drawn_at_a_place_is_what_the_row_before_it_makes_likely(model: LlamaForCausalLM) -> None:
    torch.manual_seed(6)
    tokens, places, chances = torch.randint(0, WORDS, (2, 64)), torch.arange(20, 110), torch.rand(90)
    with torch.inference_mode():
        sums = model(tokens).logits.flatten(0, 1)[places].softmax(-1)[..., ORDER].cumsum(-1)
    drawn = Expectations(copy.deepcopy(model), ORDER)(tokens, places, chances)
    expected = torch.searchsorted(sums, (torch.arange(DRAWS) + chances[:, None]) / DRAWS)
    # Rounded numbers move a border between two words now and then.
    assert (drawn == expected).float().mean() > 0.85
    assert (drawn - expected).abs().float().mean() < 0.5


def grown(found: Expectations, tokens: Tensor, chances: Tensor) -> Tensor:
    """Draws [texts, L, DRAWS] for texts [texts, L] that begin at five steps one after another."""
    texts, length = tokens.shape
    rows, drawn = torch.arange(texts), torch.zeros(texts, length, DRAWS, dtype=torch.long)
    for step in range(length + 5):
        places = step - rows % 5
        at = places.clamp(0, length - 1)
        now = found.grow(tokens[rows, at], at, chances[rows, at])
        here = (places >= 0) & (places < length)
        drawn[rows[here], at[here]] = now[here]
    return drawn


def test_texts_that_grow_are_expected_to_go_on_as_when_they_are_read(model: LlamaForCausalLM) -> None:
    torch.manual_seed(8)
    texts, length = 75, 40
    tokens, chances = torch.randint(0, WORDS, (texts, length)), torch.rand(texts, length)
    found = Expectations(copy.deepcopy(model), ORDER)
    found.begin(texts, 64)
    drawn = grown(found, tokens, chances)
    with torch.inference_mode():
        sums = model(tokens).logits.softmax(-1)[..., ORDER].cumsum(-1)
    points = (torch.arange(DRAWS) + chances[..., None]) / DRAWS
    # Rounded numbers move a border between two words now and then.
    moved = (drawn - torch.searchsorted(sums, points)).abs()
    assert (moved == 0).float().mean() > 0.85
    assert moved.float().mean() < 0.5
    # Other texts in the same places, and these again: nothing is left of what stood there.
    grown(found, tokens.flip(0), chances)
    assert torch.equal(grown(found, tokens, chances), drawn)
