"""Adapters over the shared trunk: one small file for each task, the trunk's embeddings kept once.

The blocks are trained whole, which costs no more time than training thin products beside them (LoRA, Hu et al., 2021).
The attention's matrices are square, so that at the ranks that are needed two thin factors would be no smaller: they are
saved as they are. Of the feed-forward layers the change is cut to the rank that fits the size: of all matrices of that
rank the one whose products with the inputs that the layer really gets are closest (Eckart and Young, 1936, after
whitening the inputs; Wang et al., 2024).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS
from training.loop import Batch
from training.masked_lm import NAME as TRUNK
from training.masked_lm import published_encoder
from training.saving import save_tokenizer

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
