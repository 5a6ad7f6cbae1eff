"""Numbers reach a network and come back as they are, whatever they are kept in."""

import numpy as np
import pytest
import torch

from models.tasks.arrays import batch_of_one, taken


@pytest.mark.parametrize("ids", [(3, 1, 4), []])
def test_ids_become_one_row_of_whole_numbers(ids: list[int]) -> None:
    row = batch_of_one(ids, torch.device("cpu"))
    assert row.dtype == torch.long
    assert row.tolist() == [list(ids)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("trained", [False, True])
def test_what_was_said_is_taken_in_float32_even_where_a_gradient_is_wanted(dtype: torch.dtype, trained: bool) -> None:
    found = taken(torch.tensor([[0.5, -2.0]], dtype=dtype, requires_grad=trained))
    assert found.dtype == np.float32
    assert found.tolist() == [[0.5, -2.0]]
