"""Packed layers say what plain ones say, and step aside where they cannot answer."""

import copy

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, PreTrainedModel
from transformers.pytorch_utils import Conv1D

from models.packed_linear import PackedConv1D, PackedLinear, pack

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN")

_TINY = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 64}


def bert() -> PreTrainedModel:
    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(vocab_size=50, **_TINY)).eval()


def gpt2() -> PreTrainedModel:
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=32, n_head=2, n_layer=2, n_positions=64)).eval()


@pytest.mark.parametrize("build", [bert, gpt2])
@pytest.mark.parametrize("length", [1, 2, 31, 64])
def test_a_packed_network_says_the_same(build: type, length: int) -> None:
    network = build()
    plain = copy.deepcopy(network)
    pack(network)
    ids = torch.randint(0, 50, (2, length), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        assert torch.allclose(network(ids).logits, plain(ids).logits, atol=1e-5)


@pytest.mark.parametrize("build", [bert, gpt2])
def test_every_layer_is_packed_and_the_embeddings_stay_tied(build: type) -> None:
    network = build()
    layers = [each for each in network.modules() if isinstance(each, nn.Linear | Conv1D)]
    pack(network)
    assert layers
    assert all(isinstance(each, PackedLinear | PackedConv1D) for each in layers)
    assert network.get_output_embeddings().weight is network.get_input_embeddings().weight


def test_parameters_and_their_names_stay_as_they_were() -> None:
    network = gpt2()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    pack(network)
    after = network.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_weights_that_changed_can_be_packed_again() -> None:
    network = bert()
    pack(network)
    with torch.no_grad():
        for each in network.parameters():
            each.mul_(0.5)
    plain = copy.deepcopy(bert())
    plain.load_state_dict(network.state_dict())
    pack(network)
    with torch.inference_mode():
        assert torch.allclose(network(torch.arange(8)[None]).logits, plain(torch.arange(8)[None]).logits, atol=1e-5)


def test_gradients_go_through() -> None:
    network = bert()
    plain = copy.deepcopy(network)
    pack(network)
    found = []
    for each in (network, plain):
        vectors = each.get_input_embeddings()(torch.arange(8)[None]).detach().requires_grad_()
        each(inputs_embeds=vectors).logits.sum().backward()
        found.append(vectors.grad)
    assert torch.equal(*found)


def test_a_network_in_double_precision_is_left_alone() -> None:
    network = bert().double()
    pack(network)
    assert not any(isinstance(each, PackedLinear) for each in network.modules())


def test_a_packed_network_may_be_made_double_later() -> None:
    network = bert()
    pack(network)
    with torch.inference_mode():
        assert network.double()(torch.arange(8)[None]).logits.dtype == torch.float64
