"""What compiled passes are made of computes what torch computes."""

import sys
import threading
import time
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from llvmlite import binding
from torch.nn import functional

from models.kernels.layout import COUNTS, FIELDS, MOST_ROWS, OUTPUTS, record_of
from models.kernels.processor import ENCODER, is_worth_it

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers sleep as they do in Linux")


def test_parts_are_each_done_once_and_phases_one_after_the_other() -> None:
    from models.kernels.sharing import shared

    class Given(NamedTuple):
        ends: np.ndarray
        counts: np.ndarray

    done: list[tuple[int, int, int]] = []
    prepared: list[int] = []

    def do(phase: int, part: int, _number: int, _weights: object, _of: object) -> None:
        time.sleep(0.001)
        # How many phases were begun by then: a part's own is the last of them.
        done.append((phase, part, len(prepared) - 1))

    def prepare(phase: int, _weights: object, _of: object) -> None:
        prepared.append(phase)

    given = Given(np.array([5, 6, 30, 31, 60]), np.zeros(COUNTS, np.int64))
    # What is compiled otherwise runs as plain Python, so that it can be watched.
    share: Any = shared(lambda _at: None, lambda _at: given, do, prepare)
    threads = [threading.Thread(target=share.py_func, args=(0, 0, number)) for number in (1, 2, 0)]
    for each in threads:
        assert not done, "who leads opens the first phase"
        each.start()
        time.sleep(0.02)
    for each in threads:
        each.join(30)
    assert sorted(done) == [
        (phase, part, phase) for phase, size in enumerate((5, 1, 24, 1, 29)) for part in range(size)
    ]
    assert prepared == [0, 1, 2, 3, 4]


def test_arithmetic_is_that_of_torch() -> None:
    from models.kernels.arithmetic import exponential, gelu, norm, norm_in_place

    x = torch.linspace(-80, 80, 641)
    powers = torch.tensor([float(exponential(np.float32(each))) for each in x])
    torch.testing.assert_close(powers, x.double().exp().float(), rtol=1e-6, atol=0)
    assert 0 < exponential(np.float32(-1000)) < 1e-37 and exponential(np.float32(1000)) > 1e37
    ours = torch.tensor([float(gelu(np.float32(each / 4))) for each in x])
    torch.testing.assert_close(ours, functional.gelu(x / 4, approximate="tanh"), rtol=1e-5, atol=1e-6)
    row, factors, biases = (torch.randn(48, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    normed = np.empty(48, np.float32)
    norm(row.numpy(), factors.numpy(), biases.numpy(), 1e-5, normed)
    torch.testing.assert_close(torch.from_numpy(normed), functional.layer_norm(row, (48,), factors, biases))
    in_place = row.clone()
    norm_in_place(in_place.numpy(), factors.numpy(), biases.numpy(), 1e-5)
    torch.testing.assert_close(in_place, torch.from_numpy(normed))


@pytest.mark.skipif(not is_worth_it(ENCODER), reason="made of instructions that this processor lacks")
def test_activations_of_a_tile_are_those_of_torch() -> None:
    from models.kernels.activation import activate
    from models.kernels.language import compiled

    # Made as a whole: the interpreter knows nothing of it.
    made = compiled(lambda sums, biases: activate(sums.ctypes.data, biases.ctypes.data))
    biases = torch.linspace(-1, 1, OUTPUTS)
    for first in (*torch.linspace(-9, 9, 400).tolist(), -1e30, 1e30):
        x = first + torch.linspace(0, 0.05, OUTPUTS)
        found = x.clone()
        made(found.numpy(), biases.numpy())
        exact = functional.gelu((x + biases).double()).float()
        torch.testing.assert_close(found, exact, atol=2e-7, rtol=2e-7)
    strange = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0] * (OUTPUTS // 4))
    made(strange.numpy(), torch.zeros(OUTPUTS).numpy())
    assert strange[0].isnan() and strange[1] == float("inf") and abs(strange[2]) < 1e-8 and abs(strange[3]) < 1e-7


@pytest.mark.parametrize("spread", [0.0, 1.0, 40.0])
def test_the_best_words_are_found_and_computed_again(spread: float) -> None:
    from models.kernels.ranking import rank, sum_up

    chance = torch.Generator().manual_seed(1)
    x, weight = torch.randn(32, generator=chance), torch.randn(300, 32, generator=chance) * spread
    exact = weight @ x
    coarse = exact + torch.rand(300, generator=chance) * 0.01
    scores, tiles = coarse.clone().numpy(), 5
    largest, sums = np.empty(tiles, np.float32), np.empty(tiles, np.float32)
    for tile in range(tiles):
        sum_up(scores[tile * 64 : tile * 64 + 64], tile, largest, sums)
    values, words = np.empty(20, np.float32), np.empty(20, np.int64)
    rank(scores, largest, sums, x.numpy(), weight.numpy(), values, words, values.copy(), words.copy())
    top = coarse.topk(20).indices
    expected = coarse.index_copy(0, top, exact[top])
    torch.testing.assert_close(torch.from_numpy(scores), expected)
    log_probabilities = expected.log_softmax(0)
    assert {*words.tolist()} == {*top.tolist()}
    torch.testing.assert_close(
        torch.from_numpy(values), log_probabilities[top].sort(descending=True).values, atol=1e-5, rtol=1e-5
    )
    torch.testing.assert_close(
        log_probabilities[torch.from_numpy(words)], torch.from_numpy(values), atol=1e-5, rtol=1e-5
    )


def test_the_largest_of_a_row_is_found_wherever_it_stands() -> None:
    from models.kernels.arithmetic import largest_at
    from models.kernels.language import compiled

    @compiled
    def largest(row: np.ndarray) -> float:
        return float(largest_at(row.ctypes.data, len(row)))

    for place in range(48):
        row = np.full(48, -7.0, np.float32)
        row[place] = -3.0
        assert largest(row) == -3.0


def test_rounding_is_that_of_torch() -> None:
    from models.kernels.arithmetic import rounded
    from models.kernels.language import compiled

    @compiled
    def bits(number: np.float32) -> int:
        return int(rounded(number))

    halfway = [1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 0.0, 1e-38, -3e38]
    for number in [*halfway, *torch.randn(50, generator=torch.Generator().manual_seed(0)).tolist()]:
        theirs = torch.tensor(number).bfloat16().view(torch.int16).item()
        assert bits(np.float32(number)) == theirs


def test_squares_are_turned_wherever_they_lie() -> None:
    from models.kernels.language import compiled
    from models.kernels.squares import SIDE, turn

    @compiled
    def turned(source: np.ndarray, target: np.ndarray) -> None:
        at, to = source[1:].ctypes.data, target.ctypes.data
        turn(at + 4 * 3, 4 * source.shape[1], to + 4 * 5, 4 * target.shape[1])

    source = np.arange(40 * 50, dtype=np.int32).reshape(40, 50)
    target = np.zeros((20, 30), np.int32)
    turned(source, target)
    assert (target[:SIDE, 5 : 5 + SIDE] == source[1 : 1 + SIDE, 3 : 3 + SIDE].T).all()
    target[:SIDE, 5 : 5 + SIDE] = 0
    assert not target.any(), "nothing else was written"


def test_tiles_take_all_rows_and_no_few_where_more_are_left() -> None:
    from models.kernels.tiles import rows_of_next

    for rows in range(1, 100):
        left, taken = rows, []
        while left:
            taken.append(rows_of_next.py_func(left))  # type: ignore[attr-defined]
            left -= taken[-1]
        assert sum(taken) == rows and max(taken) <= MOST_ROWS
        assert min(taken) >= min(rows, 3)


@pytest.mark.skipif(not binding.get_host_cpu_features().get("avx512bf16"), reason="no products in bfloat16 here")
def test_a_row_is_multiplied_alike_whoever_else_is_read() -> None:
    from models.kernels.language import compiled
    from models.kernels.tiles import by_pairs, rows_of_next

    @compiled
    def product(x: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
        first, count = 0, x.shape[1]
        while first < len(x):
            rows = rows_of_next(len(x) - first)
            to = sums[first].ctypes.data
            by_pairs(x[first].ctypes.data, count, count, rows, weights.ctypes.data, to, OUTPUTS, to)
            first += rows

    chance = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(*shape, generator=chance).bfloat16() for shape in ((11, 96), (OUTPUTS, 96)))
    tile = weight.view(OUTPUTS, 48, 2).transpose(0, 1).contiguous().view(torch.int16).numpy()
    found = np.empty((11, OUTPUTS), np.float32)
    product(x.view(torch.int16).numpy(), tile, found)
    torch.testing.assert_close(torch.from_numpy(found), x.float() @ weight.float().T)
    for rows in range(1, 11):
        some = np.empty((rows, OUTPUTS), np.float32)
        product(x[:rows].view(torch.int16).numpy(), tile, some)
        assert (some == found[:rows]).all()


@pytest.mark.skipif(not binding.get_host_cpu_features().get("avx512vnni"), reason="no products of whole numbers here")
@pytest.mark.parametrize("group", [32, 64])
def test_whole_numbers_multiply_nearly_exactly_and_never_beyond_what_a_sum_can_hold(group: int) -> None:
    from models.compiled.tables import in_whole
    from models.kernels.encoder_layout import FACTOR
    from models.kernels.language import compiled
    from models.kernels.numbers import keep_whole, times_whole

    @compiled
    def product(x: np.ndarray, group: int, kept: np.ndarray, tile: np.ndarray, sums: np.ndarray) -> None:
        for row in range(len(x)):
            keep_whole(x[row], x.shape[1], group, kept[row], 0)
        times_whole(kept, 0, len(x), tile, tile.ctypes.data, group, sums)

    def of(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        kept = np.empty((len(x), x.shape[1] * (group + FACTOR) // group), np.int16)
        sums = np.full(len(x) * OUTPUTS, np.nan, np.float32)
        product(x.numpy(), group, kept, in_whole([weight])[0, 0], sums)
        return torch.from_numpy(sums).view(len(x), OUTPUTS)

    chance = torch.Generator().manual_seed(0)
    x, weight = torch.randn(6, 192, generator=chance), torch.randn(OUTPUTS, 192, generator=chance)
    x[:, 7] *= 50
    exact = x.double() @ weight.double().T
    rounded = x.bfloat16().double() @ weight.bfloat16().double().T
    assert (of(x, weight) - exact).abs().max() < (rounded - exact).abs().max() / 8
    for row in range(6):
        torch.testing.assert_close(of(x[row : row + 1], weight), of(x, weight)[row : row + 1], atol=0, rtol=0)
    # Every product of a group as large as it can be, once of one sign and once with a single weight.
    x, weight = torch.full((6, 192), 3.0), torch.full((OUTPUTS, 192), -0.7)
    weight[1::2] = 0
    weight[1::2, 100] = 5
    x[3] = 0
    torch.testing.assert_close(of(x, weight), x @ weight.T, rtol=1e-3, atol=1e-6)


def test_a_record_says_where_arrays_are_and_how_large() -> None:
    arrays = [np.zeros((2, 3), np.float32), np.zeros(5, np.int64), np.zeros((1, 2, 3, 4), np.int16)]
    record = record_of(arrays).reshape(-1, FIELDS)
    assert record[:, 0].tolist() == [each.ctypes.data for each in arrays]
    assert record[:, 1:].tolist() == [[2, 3, 0, 0], [5, 0, 0, 0], [1, 2, 3, 4]]
