"""Adapters over the trunk: blocks trained whole, averaged over runs, cut to a low rank, kept in 8-bit numbers."""

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS, save_tokenizer
from training.loop import Batch
from training.masked_lm import NAME as TRUNK
from training.masked_lm import published_encoder

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


class Adversarial:
    """A loss that counts each batch twice: as it is, and with the output of `embeddings` moved against the model.

    A text's vectors `[token, dimension]` are moved by `share` of their own length, as one vector.
    """

    def __init__(self, embeddings: nn.Module, loss_of: Callable[[nn.Module, Batch], Tensor], share: float) -> None:
        self._loss_of, self._share = loss_of, share
        self._seen = torch.empty(0)
        self._change: Tensor | None = None
        embeddings.register_forward_hook(self._pass)

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """The loss on the moved batch; the gradient of the other one is there already."""
        plain = self._loss_of(model, batch)
        plain.backward()
        (gradient, vectors) = (each.float() for each in (self._seen.grad, self._seen.detach()) if each is not None)
        lengths = vectors.norm(dim=(1, 2), keepdim=True) / gradient.norm(dim=(1, 2), keepdim=True).clamp_min(1e-12)
        self._change = (self._share * lengths * gradient).to(self._seen.dtype)
        try:
            return self._loss_of(model, batch)
        finally:
            self._change = None

    def _pass(self, module: nn.Module, _inputs: object, vectors: Tensor) -> Tensor:
        if not module.training:
            return vectors
        if self._change is not None:
            return vectors + self._change
        # The embeddings themselves are not trained, so their output is a start of its own.
        self._seen = vectors.detach().requires_grad_()
        return self._seen


NARROW = torch.float8_e4m3fn
RANGE = 1024
"""By how much the thin factors are multiplied: below 1/64 e4m3 loses bits. The adapter's scale divides it out again."""

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
THIN, WIDE = ".lora_A.weight", ".lora_B.weight"
BLOCKS = ".encoder.layer."


def narrow(matrix: Tensor) -> Tensor:
    """`matrix` in 8 bits; raises `ValueError` for numbers beyond their range, which would be lost without a word."""
    if matrix.abs().max() > torch.finfo(NARROW).max:
        raise ValueError(f"8-bit floating point ends at {torch.finfo(NARROW).max:.0f}")
    return matrix.to(NARROW)


def narrow_factors(thin: Tensor, wide: Tensor) -> tuple[Tensor, Tensor]:
    """8-bit factors of about the product `wide` [out, rank] `@ thin` [rank, in], the thin one `RANGE` times as large.

    Once the thin one is rounded, the wide one is the best that there is for it (least squares), and rounded in turn.
    """
    rounded = narrow(thin.double() * RANGE)
    kept = rounded.double() / RANGE
    best = torch.linalg.lstsq(kept.T, thin.double().T @ wide.double().T).solution.T
    return rounded, narrow(best)


def narrow_adapter(folder: Path) -> None:
    """Rewrite a saved adapter (LoRA) with the matrices inside its blocks in 8 bits; vectors and heads stay."""
    tensors = load_file(folder / WEIGHTS)
    for name in tensors:
        if name.endswith(THIN):
            wide = name.replace(THIN, WIDE)
            tensors[name], tensors[wide] = narrow_factors(tensors[name], tensors[wide])
        elif BLOCKS in name and tensors[name].ndim == 2 and not name.endswith(WIDE):
            tensors[name] = narrow(tensors[name])
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS, {"format": "pt"})
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config["lora_alpha"] /= RANGE
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True), encoding="utf-8")


FEED_FORWARD = r".*encoder\.layer\.\d+\.(intermediate|output)\.dense"
ATTENTION = ["query", "key", "value", "attention.output.dense"]
NORMS = ["output.LayerNorm"]
BLOCK = "encoder.layer."
SAVED_WHOLE = ".modules_to_save.default"
DAMPING = 1e-3
"""Of the inputs' mean square, added in every direction: what the sample lacks may still come."""

Moments = dict[str, Tensor]
"""The sum of the outer products of its inputs [in, in], for each feed-forward layer by name."""


def trunk_tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer saved with the trunk."""
    return AutoTokenizer.from_pretrained(CHECKPOINTS / TRUNK)


@dataclass(frozen=True)
class Headed:
    """An encoder with a task's head: its class, its new modules by name, its dropout, its further configuration."""

    network: type[PreTrainedModel]
    parts: tuple[str, ...]
    dropout: float
    config: Mapping[str, Any] = field(default_factory=dict)

    def on_trunk(self) -> PreTrainedModel:
        """The trunk with a new head."""
        return self._on(CHECKPOINTS / TRUNK)

    def over_embeddings(self) -> PreTrainedModel:
        """The published blocks over the trunk's embeddings, which stay as they are."""
        model = self._on(published_encoder())
        own, others = (each.base_model.get_submodule("embeddings") for each in (model, self.on_trunk()))
        own.load_state_dict(others.state_dict())
        freeze_but(model, self.parts)
        return model

    def _on(self, folder: Path) -> PreTrainedModel:
        model: PreTrainedModel = self.network.from_pretrained(
            folder,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=0.0,
            dtype=torch.float32,
            attn_implementation="eager",
            **self.config,
        )
        return model


def freeze_but(model: PreTrainedModel, heads: Sequence[str]) -> None:
    """Let the blocks and the `heads` be trained; the embeddings stay the trunk's."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad = BLOCK in name or any(part in heads for part in name.split("."))


def optimizer_of(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    """AdamW over what is to be trained."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(trained, lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def input_moments(model: PreTrainedModel, batches: Iterable[Batch]) -> Moments:
    """What the feed-forward layers of `model` are given on `batches` of its inputs, padding included."""
    moments: Moments = {}

    def gather(name: str, inputs: Tensor) -> None:
        flat = inputs.detach().reshape(-1, inputs.shape[-1]).double()
        moments[name] = moments.get(name, 0) + flat.T @ flat

    hooks = [
        module.register_forward_pre_hook(lambda _, inputs, name=name: gather(name, inputs[0]))
        for name, module in model.named_modules()
        if re.fullmatch(FEED_FORWARD, name)
    ]
    with torch.inference_mode():
        for batch in batches:
            model(**batch)
    for hook in hooks:
        hook.remove()
    return moments


def low_rank(change: Tensor, rank: int, moment: Tensor) -> tuple[Tensor, Tensor]:
    """Thin factors `[rank, in]` and `[out, rank]` whose product is the closest of that rank to `change` [out, in].

    Closest where it counts: by the mean square of its products with inputs whose outer products sum to `moment`.
    """
    damped = moment + DAMPING * moment.diagonal().mean() * torch.eye(len(moment))
    root = torch.linalg.cholesky(damped)
    left, values, right = torch.linalg.svd(change.double() @ root, full_matrices=False)
    scales = values[:rank].sqrt()
    thin = torch.linalg.solve_triangular(root, scales[:, None] * right[:rank], upper=False, left=False)
    return thin.to(change.dtype), (left[:, :rank] * scales).to(change.dtype)


def adapter_of(
    model: PreTrainedModel, trunk: PreTrainedModel, rank: int, heads: Sequence[str], moments: Moments
) -> PeftModel:
    """`trunk` with an adapter that makes of it the trained `model`, its feed-forward layers as closely as `rank` lets.

    The model's embeddings are the trunk's; its blocks need not have started from the trunk's.
    """
    trained = {name: tensor.detach().float() for name, tensor in model.state_dict().items()}
    config = LoraConfig(
        r=rank,
        lora_alpha=rank,
        target_modules=FEED_FORWARD,
        modules_to_save=[*ATTENTION, *NORMS, *heads],
        bias="lora_only",
    )
    # PEFT writes down where the trunk was loaded from; a path inside the repository holds on every machine.
    trunk.name_or_path = f"assets/checkpoints/{TRUNK}"
    wrapped = get_peft_model(trunk, config)
    base = wrapped.get_base_model()
    with torch.no_grad():
        for name, module in base.named_modules():
            if isinstance(module, LoraLayer):
                thin, wide = low_rank(trained[f"{name}.weight"] - module.weight, rank, moments[name])
                base.get_parameter(f"{name}.lora_A.default.weight").copy_(thin)
                base.get_parameter(f"{name}.lora_B.default.weight").copy_(wide)
                base.get_parameter(f"{name}.base_layer.bias").copy_(trained[f"{name}.bias"])
        for name, parameter in base.named_parameters():
            if SAVED_WHOLE in name:
                parameter.copy_(trained[name.replace(SAVED_WHOLE, "")])
    return wrapped


def save_adapter(model: PeftModel, folder: Path) -> None:
    """Round the adapter to float16 and save it with the tokenizer and the whole model's configuration and labels."""
    added = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in added:
        parameter.data = parameter.data.half()
    model.save_pretrained(str(folder), save_embedding_layers=False)
    base: Any = model.get_base_model()
    base.config.save_pretrained(folder)
    save_tokenizer(trunk_tokenizer(), folder)
    for parameter in added:
        parameter.data = parameter.data.float()


def length_sorted_chunks(order: list[int], lengths: list[int], batch_size: int, chunk: int) -> list[list[int]]:
    """The shuffled `order` as batches of like lengths, sorted inside chunks of `chunk` batches: little is padding."""
    size = batch_size * chunk
    batches = []
    for start in range(0, len(order), size):
        part = sorted(order[start : start + size], key=lambda index: lengths[index])
        batches += [part[at : at + batch_size] for at in range(0, len(part), batch_size)]
    return batches


def shuffled_batches(lengths: list[int], batch_size: int, seed: int, chunk: int = 50) -> list[list[int]]:
    """One epoch's batches of indices into `lengths`, like lengths together, the batches themselves in random order."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches = length_sorted_chunks(order, lengths, batch_size, chunk)
    return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]
