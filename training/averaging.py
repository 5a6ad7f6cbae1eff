"""Runs of one model whose weights are averaged, which is better than each of them (Izmailov et al., 2018)."""

import copy
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


def mean_of(states: list[State], shares: Sequence[float]) -> State:
    """The weighted mean of a model's states; shares that sum to one."""
    return {
        name: sum((share * state[name] for state, share in zip(states, shares, strict=True)), torch.zeros_like(tensor))
        if tensor.is_floating_point()
        else tensor
        for name, tensor in states[-1].items()
    }


def mean_of_runs(model: nn.Module, runs: Iterable[Callable[[], None]]) -> None:
    """Let each of `runs` train `model` from where it stands now, and leave it at the mean of their ends.

    Wortsman et al., 2022.
    """
    start, ends = copy.deepcopy(model.state_dict()), []
    for run in runs:
        model.load_state_dict(start)
        run()
        ends.append(copy.deepcopy(model.state_dict()))
    model.load_state_dict(mean_of(ends, [1 / len(ends)] * len(ends)))
