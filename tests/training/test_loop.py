"""The loop that all trainings share goes on where a run was killed; adversarial losses are what they say."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from training.adapters import Adversarial
from training.loop import Batch, Plan, rate_at, train


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


SHARE = 0.1


class _Embedded(nn.Module):
    """A table of vectors that stays as it is, and a trained layer over it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.table.weight.requires_grad = False
        self.head = nn.Linear(3, 1, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.table(ids))
        return out


def _squared(model: nn.Module, batch: Batch) -> torch.Tensor:
    loss: torch.Tensor = model(batch["ids"]).square().mean()
    return loss


@pytest.mark.parametrize(
    ("held", "expected"),
    [(0.0, [0.5, 1.0, 1.0, 0.9, 0.5, 0.1, 0.0]), (0.4, [0.5, 1.0, 1.0, 1.0, 5 / 6, 1 / 6, 0.0])],
)
def test_rates_rise_stay_for_the_share_that_they_are_held_and_fall_to_zero(
    tmp_path: Path, held: float, expected: list[float]
) -> None:
    plan = Plan(steps=12, warmup_steps=2, workdir=tmp_path, held=held)
    assert [rate_at(step, plan) for step in (0, 1, 2, 3, 7, 11, 12)] == pytest.approx(expected)


def test_what_is_moved_against_a_model_costs_it_more_and_both_losses_are_learnt_from() -> None:
    torch.manual_seed(1)
    model = _Embedded().train()
    ids = torch.tensor([[0, 1, 2], [3, 4, 0]])
    vectors, weight = model.table(ids), model.head.weight
    plain = _squared(model, {"ids": ids})
    # By hand: the gradient of the mean of squares by each vector, scaled to a share of its text's length.
    against = 2 * (vectors @ weight.T) * weight / ids.numel()
    lengths = vectors.norm(dim=(1, 2), keepdim=True) / against.norm(dim=(1, 2), keepdim=True)
    moved = ((vectors + SHARE * lengths * against) @ weight.T).square().mean()
    (expected,) = torch.autograd.grad(
        plain + ((vectors + (SHARE * lengths * against).detach()) @ weight.T).square().mean(), weight
    )

    loss = Adversarial(model.table, _squared, SHARE)(model, {"ids": ids})
    loss.backward()
    assert loss.item() == pytest.approx(moved.item(), rel=1e-5) and loss > plain
    assert torch.allclose(weight.grad, expected, rtol=1e-4)
    assert torch.equal(_squared(model.eval(), {"ids": ids}), plain)
