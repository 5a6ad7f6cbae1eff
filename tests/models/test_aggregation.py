"""One head, mean, maximum and rollout, each against an example worked by hand."""

import numpy as np
import pytest

from models.errors import InputError
from models.explain.aggregation import WAYS, reduce
from models.outputs.attention import Attention
from models.outputs.base import Token

TOKENS = tuple(Token(text, text, number) for number, text in enumerate(("it", "rains")))
# [layer, head, query, key]
WEIGHTS = np.array(
    [
        [[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]],
        [[[0.25, 0.75], [1.0, 0.0]], [[0.75, 0.25], [0.0, 1.0]]],
    ],
    dtype=np.float32,
)


def attention(kind: str = "encoder", keys: tuple[Token, ...] = TOKENS) -> Attention:
    return Attention(kind, WEIGHTS, TOKENS, keys, np.zeros((2, 2), dtype=bool))


@pytest.mark.parametrize(
    ("how", "layer", "head", "expected"),
    [
        ("head", 0, 1, [[0, 1], [0.5, 0.5]]),
        ("head", -1, 0, [[0.625, 0.375], [0.75, 0.25]]),
        ("head", -1, -1, [[0.5, 0.5], [0.5, 0.5]]),
        ("mean", 1, 0, [[0.5, 0.5], [0.5, 0.5]]),
        ("mean", -1, -1, [[0.5, 0.5], [0.5, 0.5]]),
        ("maximum", 0, -1, [[1, 1], [0.5, 0.5]]),
        ("maximum", 1, 0, [[0.75, 0.75], [1, 1]]),
        ("maximum", -1, -1, [[1, 1], [1, 1]]),
        # Both layers' means are [[.5, .5], [.5, .5]]; with the residual [[.75, .25], [.25, .75]], and its square.
        ("rollout", 0, -1, [[0.75, 0.25], [0.25, 0.75]]),
        ("rollout", 1, -1, [[0.625, 0.375], [0.375, 0.625]]),
        ("rollout", -1, -1, [[0.625, 0.375], [0.375, 0.625]]),
    ],
)
def test_a_worked_example(how: str, layer: int, head: int, expected: list[list[float]]) -> None:
    reduced = reduce(attention(), how, layer, head)
    assert reduced.dtype == np.float32
    np.testing.assert_allclose(reduced, expected, atol=1e-6)


def test_rollout_of_a_decoder_never_looks_ahead_and_its_rows_sum_to_one() -> None:
    length = 7
    ahead = np.triu(np.ones((length, length), dtype=bool), k=1)
    weights = np.where(ahead, 0, np.random.default_rng(0).random((4, 3, length, length)))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    tokens = tuple(Token(str(number), str(number), number) for number in range(length))
    made = Attention("decoder", weights, tokens, tokens, ahead)
    for layer in range(-1, 4):
        rolled = reduce(made, "rollout", layer)
        np.testing.assert_allclose(rolled.sum(axis=1), 1, atol=1e-5)
        assert not rolled[ahead].any()


@pytest.mark.parametrize(
    ("made", "how", "layer", "head", "field"),
    [
        (attention(), "sum", -1, -1, "how"),
        (attention(), "head", 2, -1, "layer"),
        (attention(), "head", 0, 2, "head"),
        (attention(), "maximum", 2, -1, "layer"),
        (attention(), "rollout", -2, -1, "layer"),
        (attention("cross"), "rollout", -1, -1, "how"),
        (attention(keys=TOKENS[::-1]), "rollout", -1, -1, "how"),
    ],
)
def test_what_is_not_there_is_refused(made: Attention, how: str, layer: int, head: int, field: str) -> None:
    with pytest.raises(InputError) as refused:
        reduce(made, how, layer, head)
    assert refused.value.field == field


def test_every_way_is_there_for_attention_within_one_text() -> None:
    assert all(reduce(attention(), how).shape == (2, 2) for how in WAYS)
