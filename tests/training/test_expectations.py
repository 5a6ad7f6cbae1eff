"""What a larger model expects: draws as its probabilities are, the same in tiles as by transformers."""

import copy

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from training import expectations, tiles
from training.expectations import DRAWS, ByTiles, ByTorch, Expectations, expectations_of

needs_tiles = pytest.mark.skipif(tiles.compiler() is None, reason="nothing multiplies bfloat16, or nothing compiles")
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


@pytest.fixture
def reader(model: LlamaForCausalLM) -> ByTiles:
    found = expectations_of(model, ORDER)
    assert isinstance(found, ByTiles)
    return found


# Another order than the words' own.
ORDER = torch.arange(WORDS).flip(0)


def head_of(model: LlamaForCausalLM) -> Tensor:
    """The words' vectors in this order."""
    return model.lm_head.weight.detach()[ORDER]


def test_draws_are_as_many_as_a_probability_says() -> None:
    torch.manual_seed(0)
    hidden, head = torch.randn(300, 8), torch.randn(20, 8)
    drawn = expectations.draws(hidden, head, torch.rand(300))
    counts = torch.zeros(300, 20).scatter_add_(1, drawn, torch.ones(300, DRAWS))
    expected = (hidden @ head.T).softmax(-1) * DRAWS
    assert torch.equal(counts.sum(-1), torch.full((300,), float(DRAWS)))
    assert (counts - expected).abs().max() < 1
    assert (counts - expected).mean(0).abs().max() < 0.08


@needs_tiles
@pytest.mark.parametrize("length", [32, 288, 512])
def test_what_is_read_in_tiles_is_what_transformers_reads(
    model: LlamaForCausalLM, reader: ByTiles, length: int
) -> None:
    tokens = torch.randint(0, WORDS, (3, length), generator=torch.manual_seed(length))
    with torch.inference_mode():
        expected = model.model(input_ids=tokens, use_cache=False).last_hidden_state
    # Of the second row nothing is asked.
    places = torch.tensor([0, 5, length - 1, 2 * length, 2 * length + 7])
    drawn, hidden = reader.read(tokens, places, torch.rand(5))
    assert drawn.shape == (5, DRAWS)
    assert (hidden - expected).norm(dim=-1).max() <= 0.03 * expected.norm(dim=-1).max()


@needs_tiles
def test_what_is_drawn_in_tiles_is_what_torch_draws(model: LlamaForCausalLM, reader: ByTiles) -> None:
    torch.manual_seed(6)
    tokens, places, chances = torch.randint(0, WORDS, (2, 512)), torch.arange(200, 900), torch.rand(700)
    drawn, hidden = reader.read(tokens, places, chances)
    plain = expectations.draws(hidden.flatten(0, 1)[places], head_of(model).bfloat16().float(), chances)
    # Rounded weights move a border between two words now and then.
    assert (drawn == plain).float().mean() > 0.99
    assert (drawn - plain).abs().max() <= 1
    other = ByTorch(copy.deepcopy(model), head_of(model))(tokens, places, chances)
    assert (drawn - other).abs().float().mean() < 1
    assert torch.equal(reader(tokens, places, chances), drawn)


@needs_tiles
def test_scores_beyond_what_is_told_apart_are_refused(model: LlamaForCausalLM) -> None:
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.model.norm.weight.mul_(50)
    found = expectations_of(model, ORDER)
    with pytest.raises(ArithmeticError, match="too large"):
        found(torch.arange(32)[None], torch.tensor([3]), torch.tensor([0.5]))


@needs_tiles
@pytest.mark.parametrize("length", [48, 544])
def test_rows_of_other_lengths_are_refused(reader: ByTiles, length: int) -> None:
    with pytest.raises(ValueError, match="up to 512 tokens"):
        reader(torch.zeros(1, length, dtype=torch.long), torch.tensor([0]), torch.tensor([0.5]))


@pytest.mark.parametrize(
    "change",
    [
        {"head_dim": 32},
        {"hidden_size": 144},
        {"intermediate_size": 100},
        {"vocab_size": 330},
        {"hidden_act": "gelu"},
        {"rms_norm_eps": 1e-6},
        {"attention_bias": True},
        {"mlp_bias": True},
    ],
)
def test_other_architectures_are_read_by_torch(model: LlamaForCausalLM, change: dict[str, object]) -> None:
    assert expectations.suits(model.config)
    other = LlamaForCausalLM(LlamaConfig(**(model.config.to_dict() | change)))
    assert isinstance(expectations_of(other, torch.arange(other.config.vocab_size)), ByTorch)


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


@pytest.mark.parametrize("way", [pytest.param("tiles", marks=needs_tiles), "torch"])
def test_texts_that_grow_are_expected_to_go_on_as_when_they_are_read(model: LlamaForCausalLM, way: str) -> None:
    torch.manual_seed(8)
    texts, length = 75, 40
    tokens, chances = torch.randint(0, WORDS, (texts, length)), torch.rand(texts, length)
    plain = copy.deepcopy(model)
    found = expectations_of(plain, ORDER) if way == "tiles" else ByTorch(plain, head_of(plain))
    assert isinstance(found, ByTiles) == (way == "tiles")
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


@needs_tiles
@pytest.mark.parametrize(("rows", "longest"), [(513, 64), (32, 544)])
def test_as_many_texts_as_do_not_fit_are_refused(reader: ByTiles, rows: int, longest: int) -> None:
    with pytest.raises(ValueError, match="up to 512 texts"):
        reader.begin(rows * torch.get_num_threads(), longest)
