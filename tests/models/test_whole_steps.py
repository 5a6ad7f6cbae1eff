"""Weights of whole steps lose nothing in 8 bits, and no others are taken for such."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GPT2Config, GPT2LMHeadModel

from models.checkpoints import REGISTRY
from models.layout import LaidOut, quickly
from models.packed_linear import Packed, pack
from models.precision import Precision, offered
from models.products import WHOLE, multiply
from models.whole_steps import LEVELS, MOST_ROWS, whole_steps
from training.whole_steps import to_whole_steps

pytestmark = pytest.mark.skipif(
    Precision.BFLOAT16 not in offered(), reason="only what is rounded anyway is read in 8 bits"
)


def stepped(outputs: int, inputs: int) -> Tensor:
    """Weights of whole steps, as float16 holds them; a row of them is small, another large."""
    chance = torch.Generator().manual_seed(0)
    levels = torch.randint(-LEVELS, LEVELS + 1, (outputs, inputs), generator=chance)
    levels[:, 0] = LEVELS
    steps = torch.exp2(torch.arange(outputs) % 6 - 10.0)
    return (levels * steps[:, None]).half().float()


@pytest.mark.parametrize("rows", [1, 3, MOST_ROWS])
@pytest.mark.parametrize("then", ["none", "relu", "gelu", "gelu_tanh", "swish"])
def test_a_product_is_that_of_the_weights(rows: int, then: str) -> None:
    weight, bias = stepped(96, 64), torch.randn(96)
    found = whole_steps(weight, bias)
    assert found is not None and found.kind == WHOLE
    x = torch.randn(2, rows, 64).bfloat16().float()[:1]
    kind = {
        "gelu_tanh": lambda y: functional.gelu(y, approximate="tanh"),
        "swish": functional.silu,
        "none": lambda y: y,
    }
    exact = kind.get(then, getattr(functional, then, None))(functional.linear(x, weight, bias))
    with torch.inference_mode():
        ours = multiply(x, found.kind, found.weights[0], found.steps[0], found.biases[0], then)
        torch.testing.assert_close(ours, exact, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize(
    "weight",
    [torch.randn(64, 64), stepped(64, 64) + 1e-3, stepped(60, 64), stepped(64, 40)],
    ids=["any", "moved", "outputs without a block", "inputs without a block"],
)
def test_other_weights_are_none(weight: Tensor) -> None:
    assert whole_steps(weight, torch.zeros(len(weight))) is None


def test_few_rows_are_read_in_8_bits_and_more_in_bfloat16_and_say_the_same() -> None:
    layout, x = LaidOut(stepped(64, 64), torch.randn(64), Precision.BFLOAT16), torch.randn(MOST_ROWS + 1, 64)
    assert layout.few
    with torch.inference_mode(), quickly():
        several, few = layout.product(x), layout.product(x[:MOST_ROWS])
    # Only what is rounded last differs: with the bias, or before it comes.
    torch.testing.assert_close(few, several[:MOST_ROWS], rtol=2**-7, atol=2**-7)


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
    again = network.transformer.h[0].mlp.c_fc.weight.clone()
    to_whole_steps(network)
    torch.testing.assert_close(network.transformer.h[0].mlp.c_fc.weight, again, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "kind"), [("clearhead-stories", AutoModelForCausalLM), ("clearhead-en-fr", AutoModelForSeq2SeqLM)]
)
def test_bundled_models_that_write_are_made_of_whole_steps(name: str, kind: type) -> None:
    network = kind.from_pretrained(REGISTRY[name].folder, dtype=torch.float32)
    pack(network, Precision.BFLOAT16)
    output = network.get_output_embeddings()
    inside = [module for module in network.modules() if isinstance(module, Packed) and module is not output]
    assert inside and all(module.layout.few for module in inside)
