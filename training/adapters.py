"""Low-rank adapters over the shared trunk (Hu et al., 2021): one small file for each task, the trunk kept once.

The matrices of the trunk's blocks are trained whole, which costs no more time than training thin products beside
them, and the change is then cut to the rank that fits the size: by Eckart and Young (1936), its first singular vectors
are the closest matrix of that rank.
"""

from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS
from training.masked_lm import NAME as TRUNK

EVERY_LINEAR_LAYER = r".*encoder\.layer\.\d+\..*(query|key|value|dense)"
BLOCK = "encoder.layer."


def trunk_tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer saved with the trunk."""
    return AutoTokenizer.from_pretrained(CHECKPOINTS / TRUNK)


def freeze_but(model: PreTrainedModel, heads: list[str]) -> None:
    """Let the matrices of the blocks and the `heads` be trained; embeddings, biases and norms stay the trunk's."""
    for name, parameter in model.named_parameters():
        in_block = BLOCK in name and parameter.ndim == 2
        parameter.requires_grad = in_block or any(part in heads for part in name.split("."))


def optimizer_of(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    """AdamW over what is to be trained."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(trained, lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def low_rank(change: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Thin factors `[rank, in]` and `[out, rank]` whose product is the closest of that rank to `change` [out, in]."""
    left, values, right = torch.linalg.svd(change, full_matrices=False)
    roots = values[:rank].sqrt()
    return roots[:, None] * right[:rank], left[:, :rank] * roots


def adapter_of(model: PreTrainedModel, trunk: PreTrainedModel, rank: int, heads: list[str]) -> PeftModel:
    """`trunk` with an adapter that makes of it the trained `model`, as closely as `rank` allows; `heads` go whole."""
    trained = {name: tensor.detach().float() for name, tensor in model.state_dict().items()}
    config = LoraConfig(r=rank, lora_alpha=rank, target_modules=EVERY_LINEAR_LAYER, modules_to_save=heads)
    # PEFT writes down where the trunk was loaded from; a path inside the repository holds on every machine.
    trunk.name_or_path = f"assets/checkpoints/{TRUNK}"
    wrapped = get_peft_model(trunk, config)
    base = wrapped.get_base_model()
    with torch.no_grad():
        for name, module in base.named_modules():
            if isinstance(module, LoraLayer):
                thin, wide = low_rank(trained[f"{name}.weight"] - module.weight, rank)
                module.lora_A["default"].weight.copy_(thin)
                module.lora_B["default"].weight.copy_(wide)
        for name, parameter in base.named_parameters():
            if ".modules_to_save.default" in name:
                parameter.copy_(trained[name.replace(".modules_to_save.default", "")])
    return wrapped


def save_adapter(model: PeftModel, folder: Path) -> None:
    """Round the adapter to float16 and save it with the tokenizer and the whole model's configuration and labels."""
    added = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in added:
        parameter.data = parameter.data.half()
    model.save_pretrained(folder, save_embedding_layers=False)
    model.get_base_model().config.save_pretrained(folder)
    trunk_tokenizer().save_pretrained(folder)
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
