"""The shared training loop resumes where a run was killed, and so do batches of examples of similar length."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn

from training.loop import Batch, Plan, epochs_of, grouped_by_length, rate_at, train


class _KilledError(Exception):
    pass


def _training_run(workdir: Path, die_at: int | None) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Linear(4, 2)

    def batches(step: int) -> Iterator[Batch]:
        while True:
            if step == die_at:
                raise _KilledError
            yield {"x": torch.randn(8, 4, generator=torch.Generator().manual_seed(step))}
            step += 1

    train(
        model,
        [torch.optim.AdamW(model.parameters(), lr=0.05)],
        batches,
        lambda trained, batch: trained(batch["x"]).float().square().mean(),
        Plan(steps=9, warmup_steps=3, workdir=workdir, save_every_s=0.0),
    )
    return model


def test_a_run_that_was_killed_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    whole = _training_run(tmp_path / "whole", None)
    with pytest.raises(_KilledError):
        _training_run(tmp_path / "killed", 5)
    resumed = _training_run(tmp_path / "killed", None)
    assert torch.equal(whole.weight, resumed.weight) and torch.equal(whole.bias, resumed.bias)


def test_rates_rise_and_fall_to_zero(tmp_path: Path) -> None:
    plan = Plan(steps=12, warmup_steps=2, workdir=tmp_path)
    assert [rate_at(step, plan) for step in (0, 1, 2, 7, 11, 12)] == pytest.approx([0.5, 1.0, 1.0, 0.5, 0.1, 0.0])


def test_an_epoch_has_each_example_once_with_little_padding() -> None:
    lengths = [1 + place % 17 for place in range(200)]
    batches = grouped_by_length(lengths, 64, seed=1)
    assert sorted(place for batch in batches for place in batch) == list(range(200))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 64 for batch in batches)
    assert grouped_by_length(lengths, 64, seed=2) != batches


def test_batches_go_on_where_a_run_stopped() -> None:
    lengths = [1 + place % 17 for place in range(200)]
    whole = list(islice(epochs_of(lengths, 64, 1, 0), 100))
    assert list(islice(epochs_of(lengths, 64, 1, 70), 30)) == whole[70:]
