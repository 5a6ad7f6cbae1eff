"""Attention as a type that names its tokens and refuses what does not fit."""

import numpy as np
import pytest

from models.errors import InputError
from models.outputs import MEAN, Attention, CompletionOutput, GeneratedToken, LoadedCheckpoint, Token, generated_ids

TOKENS = (Token("a", "a", 1), Token("b", "b", 2))
NOTHING = np.zeros((2, 2), dtype=bool)


def attention() -> Attention:
    """Two layers of three heads; layer 1, head 2 looks only at the second token, all others only at the first."""
    weights = np.zeros((2, 3, 2, 2), dtype=np.float32)
    weights[..., 0] = 1
    weights[1, 2] = [[0, 1], [0, 1]]
    return Attention("encoder", weights, TOKENS, TOKENS, NOTHING)


def test_one_layer_and_head() -> None:
    assert attention().matrix(1, 2).tolist() == [[0, 1], [0, 1]]
    assert attention().matrix(0, 2).tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("layer", "head", "second"), [(MEAN, MEAN, 1 / 6), (1, MEAN, 1 / 3), (MEAN, 2, 1 / 2), (0, MEAN, 0)]
)
def test_the_mean_over_layers_and_heads(layer: int, head: int, second: float) -> None:
    np.testing.assert_allclose(attention().matrix(layer, head), [[1 - second, second]] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "head", "field"), [(2, 0, "layer"), (-2, 0, "layer"), (0, 3, "head"), (0, -2, "head")]
)
def test_a_layer_or_head_that_is_not_there_is_named(layer: int, head: int, field: str) -> None:
    with pytest.raises(InputError, match="is not there") as refused:
        attention().matrix(layer, head)
    assert refused.value.field == field


@pytest.mark.parametrize("shape", [(2, 3, 2, 1), (2, 3, 1, 2), (3, 2, 2), (2, 2)])
def test_weights_that_do_not_fit_the_tokens_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Attention("encoder", np.zeros(shape, np.float32), TOKENS, TOKENS, NOTHING)


def test_a_mask_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Attention("encoder", np.zeros((1, 1, 2, 2), np.float32), TOKENS, TOKENS, np.zeros((2, 1), dtype=bool))


def test_the_ids_that_were_written() -> None:
    written = tuple(GeneratedToken(token, 0.5, ()) for token in TOKENS)
    assert generated_ids(CompletionOutput(LoadedCheckpoint("x", "r", "l"), (), "ab", written)) == (1, 2)
