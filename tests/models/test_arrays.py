"""Numbers reach a network and come back as they are, whatever they are kept in."""

import pytest
import torch

from models.tasks.arrays import batch_of_one


@pytest.mark.parametrize("ids", [(3, 1, 4), []])
def test_ids_become_one_row_of_whole_numbers(ids: list[int]) -> None:
    row = batch_of_one(ids, torch.device("cpu"))
    assert row.dtype == torch.long
    assert row.tolist() == [list(ids)]
