"""Weights of whole steps say nearly the same, and float16 loses nothing of them."""

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GPT2Config, GPT2LMHeadModel, PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.registry import REGISTRY
from training.whole_steps import LEVELS, steps_of, to_whole_steps


def inside(network: PreTrainedModel) -> list[torch.Tensor]:
    """The weights `[out, in]` of all linear layers but the one that scores words."""
    output = network.get_output_embeddings()
    layers = [module for module in network.modules() if isinstance(module, nn.Linear | Conv1D) and module is not output]
    return [each.weight if isinstance(each, nn.Linear) else each.weight.T for each in layers]


def test_a_rounded_network_is_made_of_whole_steps_and_says_nearly_the_same() -> None:
    torch.manual_seed(0)
    network = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=64, n_head=2, n_layer=2, n_positions=32)).eval()
    ids = torch.arange(1, 20)[None]
    before = network(ids).logits
    embedding = network.transformer.wte.weight.clone()
    to_whole_steps(network)
    assert torch.equal(network.transformer.wte.weight, embedding), "scores over words have a rounding of their own"
    after = network(ids).logits
    assert 0 < (after - before).abs().max() < 0.05
    again = [weight.clone() for weight in inside(network)]
    to_whole_steps(network)
    assert all(torch.equal(weight, other) for weight, other in zip(inside(network), again, strict=True))


@pytest.mark.parametrize(
    ("name", "kind"), [("clearhead-en-fr", AutoModelForSeq2SeqLM), ("clearhead-stories", AutoModelForCausalLM)]
)
def test_the_bundled_models_that_write_are_made_of_whole_steps_that_float16_holds(name: str, kind: type) -> None:
    network = kind.from_pretrained(REGISTRY[name].folder, dtype=torch.float32)
    weights = inside(network)
    assert weights
    for weight in weights:
        multiples = weight / steps_of(weight)[:, None]
        assert torch.equal(multiples, multiples.round()) and multiples.abs().max() <= LEVELS
        assert torch.equal(weight.half().float(), weight)
