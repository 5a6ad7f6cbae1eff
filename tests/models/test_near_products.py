"""Products that are nearly exact, in each way that this machine has."""

import pytest
import torch
from torch import Tensor

from models.activations import activated
from models.near_products import InTwoBytes, NearProduct, Way, ways

HAVE_BEEN_ROUNDED = 5e-4
"""How far a product may be off, of its length; in bfloat16 it is 3e-3."""


def layer(outputs: int, inputs: int) -> tuple[Tensor, Tensor]:
    """A weight and a bias; one output's weights are small, another's large."""
    chance = torch.Generator().manual_seed(0)
    weight = torch.randn(outputs, inputs, generator=chance) * torch.logspace(-2, 1, outputs)[:, None]
    return weight, torch.randn(outputs, generator=chance)


def states(*shape: int) -> Tensor:
    """Rows of different length, in each a number that dwarfs the others, as a large network's hidden states have it."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    x[..., 5] *= 30
    return x * torch.logspace(-1, 1, x[..., 0].numel()).view(*shape[:-1], 1)


def exact(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.nn.functional.linear(x.double(), weight.double(), bias.double())


every_way = pytest.mark.parametrize("way", ways(), ids=lambda way: way.__name__)


@every_way
@pytest.mark.parametrize("outputs,inputs", [(96, 64), (64, 768), (50, 37), (1, 8)])
@pytest.mark.parametrize("shape", [(1,), (3,), (2, 16), (1, 130)])
def test_a_product_is_near(way: type[Way], outputs: int, inputs: int, shape: tuple[int, ...]) -> None:
    (weight, bias), x = layer(outputs, inputs), states(*shape, inputs)
    with torch.inference_mode():
        found = way(weight, bias)(x)
    expected = exact(x, weight, bias)
    assert found.shape == expected.shape
    assert found.dtype == torch.float32
    length = (expected - bias).norm(dim=-1) + bias.norm()
    assert ((found - expected).norm(dim=-1) / length).max() < HAVE_BEEN_ROUNDED


@every_way
def test_a_row_does_not_depend_on_its_neighbours(way: type[Way]) -> None:
    (weight, bias), x = layer(32, 64), states(7, 64)
    with torch.inference_mode():
        product = way(weight, bias)
        torch.testing.assert_close(product(x), torch.cat([product(row[None]) for row in x]), atol=1e-5, rtol=1e-5)


@every_way
def test_neither_what_is_multiplied_nor_the_weights_are_changed(way: type[Way]) -> None:
    (weight, bias), x = layer(32, 64), states(7, 64)
    before = [each.clone() for each in (weight, bias, x)]
    with torch.inference_mode():
        product = way(weight, bias)
        assert torch.equal(product(x), product(x))
    assert all(torch.equal(each, was) for each, was in zip((weight, bias, x), before, strict=True))


@every_way
def test_rows_of_zeros_give_the_bias(way: type[Way]) -> None:
    weight, bias = layer(32, 64)
    weight[3] = 0
    with torch.inference_mode():
        assert torch.equal(way(weight, bias)(torch.zeros(2, 64)), bias.expand(2, 32))


@pytest.mark.skipif(InTwoBytes not in ways(), reason="this processor has no tiles of bytes")
def test_whole_numbers_of_16_bits_are_exact_in_two_bytes() -> None:
    chance = torch.Generator().manual_seed(2)
    weight, x = (torch.randint(-32512, 32513, (8, 3), generator=chance).float() for _ in range(2))
    weight[:, 0] = x[:, 0] = 32512
    with torch.inference_mode():
        found = InTwoBytes(weight, torch.zeros(8))(x)
    torch.testing.assert_close(found.double(), exact(x, weight, torch.zeros(8)), rtol=1e-6, atol=32512**2 * 1e-6)


@pytest.mark.skipif(not ways(), reason="this processor has no such products")
@pytest.mark.parametrize("then", ["none", "relu", "gelu", "gelu_tanh", "swish"])
def test_the_quickest_way_is_taken_and_an_activation_follows(then: str) -> None:
    (weight, bias), x = layer(32, 64), states(7, 64)
    with torch.inference_mode():
        found, way = NearProduct(weight, bias)(x, then), ways()[0](weight, bias)
        torch.testing.assert_close(found, activated(way(x), then))
