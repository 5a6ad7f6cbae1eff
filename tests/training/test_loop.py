"""The loop that all trainings share goes on where a run was killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from training.loop import Batch, Plan, train


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
