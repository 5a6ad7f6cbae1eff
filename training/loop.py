"""The training loop that every script shares, optimizers, and batches of examples of similar length.

A run is a function of its seed and its step count alone: batches are asked for by step, so an interrupted run resumes
with the batch that it would have seen.
"""

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from models.engine.pytorch import rounds_quickly

Batch = dict[str, Tensor]

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Plan:
    """The steps of a run and the folder of its state; `rate_at` scales the optimizers' own learning rates."""

    steps: int
    warmup_steps: int
    workdir: Path
    save_every_s: float = 300.0
    log_every: int = 50
    max_grad_norm: float = 1.0


def device() -> torch.device:
    """The accelerator where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def rounding() -> torch.autocast:
    """Autocast to bfloat16 on an accelerator or a CPU that is fast at it; otherwise, float32."""
    where = device().type
    return torch.autocast(where, dtype=torch.bfloat16, enabled=where == "cuda" or rounds_quickly())


def rate_at(step: int, plan: Plan) -> float:
    """The factor on the peak learning rate at `step`: linear warm-up, then linear decay to zero."""
    if step < plan.warmup_steps:
        return (step + 1) / plan.warmup_steps
    return max(0.0, (plan.steps - step) / max(1, plan.steps - plan.warmup_steps))


def train(
    model: Model,
    optimizers: Iterable[torch.optim.Optimizer],
    batches: Callable[[int], Iterator[Batch]],
    loss_of: Callable[[Model, Batch], Tensor],
    plan: Plan,
    evaluate: Callable[[Model], dict[str, float]] | None = None,
    evaluate_every: int = 0,
) -> None:
    """Train `model` in place for `plan.steps` steps, resuming from `plan.workdir/state.pt` if it is there.

    `batches(step)` yields the batches of steps `step`, `step + 1`, … ; `loss_of(model, batch)` is the mean loss.
    """
    plan.workdir.mkdir(parents=True, exist_ok=True)
    optimizers = list(optimizers)
    peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    where = device()
    model.to(where).train()
    state_file, log_file = plan.workdir / "state.pt", plan.workdir / "log.jsonl"
    step = resume(model, optimizers, state_file)
    began_s = saved_s = time.monotonic()
    began_step, running = step, 0.0
    for batch in batches(step) if step < plan.steps else ():
        factor = rate_at(step, plan)
        for optimizer, rates in zip(optimizers, peaks, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        batch = {name: tensor.to(where, non_blocking=True) for name, tensor in batch.items()}
        with rounding():
            loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), plan.max_grad_norm)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        running = loss.item() if step == began_step + 1 else 0.98 * running + 0.02 * loss.item()
        done = step >= plan.steps
        if step % plan.log_every == 0 or done:
            seconds = time.monotonic() - began_s
            line = {"step": step, "loss": round(running, 4), "s_per_step": round(seconds / (step - began_step), 4)}
            record(log_file, line)
        if evaluate and (done or (evaluate_every and step % evaluate_every == 0)):
            model.eval()
            with torch.inference_mode():
                record(log_file, {"step": step} | evaluate(model))
            model.train()
        if done or time.monotonic() - saved_s > plan.save_every_s:
            save(model, optimizers, step, state_file)
            saved_s = time.monotonic()
        if done:
            break
    model.eval()


def record(log_file: Path, line: dict[str, float]) -> None:
    """Print one line of the log and append it to the file."""
    text = json.dumps(line)
    print(text, flush=True)
    with log_file.open("a") as file:
        file.write(text + "\n")


def save(model: nn.Module, optimizers: list[torch.optim.Optimizer], step: int, file: Path) -> None:
    """Write the state to a new file, then rename it, so that a kill leaves one good file."""
    fresh = file.with_suffix(".new")
    state = {"step": step, "model": model.state_dict(), "optimizers": [each.state_dict() for each in optimizers]}
    torch.save(state, fresh)
    fresh.replace(file)


def resume(model: nn.Module, optimizers: list[torch.optim.Optimizer], file: Path) -> int:
    """Load the state if there is one; return the step to resume from, 0 for a fresh start."""
    if not file.exists():
        return 0
    state = torch.load(file, map_location=device(), weights_only=True)
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return int(state["step"])


def development_loss(
    loss_of: Callable[[Model, Batch], Tensor], batches: Sequence[Batch]
) -> Callable[[Model], dict[str, float]]:
    """Return an `evaluate` for `train`: the mean loss over held-out `batches`."""

    def evaluate(model: Model) -> dict[str, float]:
        losses = []
        for batch in batches:
            batch = {name: tensor.to(device()) for name, tensor in batch.items()}
            with rounding():
                losses.append(loss_of(model, batch).item())
        return {"development_loss": round(sum(losses) / len(losses), 4)}

    return evaluate


def adamw(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    """AdamW over all parameters of `model`."""
    return torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def muon_and_adamw(
    model: PreTrainedModel, weight_decay: float = 0.05, rate: float = 1.0
) -> list[torch.optim.Optimizer]:
    """For a model from scratch: Muon over the matrices inside its blocks, AdamW over embeddings, norms and biases.

    Muon's rate is adjusted to a matrix's shape as in Keller Jordan et al. (2024). `rate` is a factor on both rates.
    """
    matrices: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        inside = parameter.ndim == 2 and (".layers." in name or ".h." in name)
        (matrices if inside else rest).append(parameter)
    return [
        torch.optim.Muon(matrices, lr=0.02 * rate, weight_decay=weight_decay, adjust_lr_fn="original"),
        torch.optim.AdamW(rest, lr=2e-3 * rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def grouped_by_length(lengths: Sequence[int], tokens: int, seed: int) -> list[list[int]]:
    """The batches of an epoch in random order, as indices into `lengths`; each has about `tokens` tokens, padded."""
    chance = random.Random(seed)
    batches: list[list[int]] = [[]]
    for place in sorted(range(len(lengths)), key=lambda place: (lengths[place], chance.random())):
        if batches[-1] and (len(batches[-1]) + 1) * lengths[place] > tokens:
            batches.append([])
        batches[-1].append(place)
    chance.shuffle(batches)
    return batches


def epochs_of(lengths: Sequence[int], tokens: int, seed: int, step: int) -> Iterator[list[int]]:
    """Endless batches of `grouped_by_length` from `step` on, each epoch in an order of its own."""
    epoch = 0
    while True:
        batches = grouped_by_length(lengths, tokens, seed + epoch)
        yield from batches[step:]
        step, epoch = max(0, step - len(batches)), epoch + 1
