"""Products by weights in float16 are those of the rounded weights, and nothing else is rounded."""

import pytest
import torch
from torch.nn import functional

from models.half_weights import can_be_half
from models.layout import LaidOut, quickly
from models.precision import Precision

pytestmark = pytest.mark.skipif(not can_be_half(), reason="this processor has no products by weights in float16")

ACTIVATIONS = {
    "none": lambda y: y,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda y: functional.gelu(y, approximate="tanh"),
    "swish": functional.silu,
}


@pytest.mark.parametrize("shape", [(1, 64), (1, 7, 64), (3, 33, 64)])
@pytest.mark.parametrize("outputs", [96, 41])
@pytest.mark.parametrize("then", list(ACTIVATIONS))
def test_a_product_is_that_of_the_rounded_weights(shape: tuple[int, ...], outputs: int, then: str) -> None:
    chance = torch.Generator().manual_seed(0)
    weight, bias, x = (torch.randn(*size, generator=chance) for size in ((outputs, 64), (outputs,), shape))
    layout = LaidOut(weight, bias, Precision.FLOAT16)
    exact = ACTIVATIONS[then](functional.linear(x.double(), weight.half().double(), bias.double()))
    with torch.inference_mode():
        torch.testing.assert_close(layout.raw(x, then).double(), exact, rtol=1e-5, atol=1e-5)


def test_it_is_used_for_answers_only_and_counts_two_bytes_a_weight() -> None:
    layout, x = LaidOut(torch.randn(8, 64), None, Precision.FLOAT16), torch.randn(2, 64)
    with torch.inference_mode():
        assert not layout.suits(x)
        with quickly():
            assert layout.suits(x)
    assert layout.bytes == 2 * 8 * 64
