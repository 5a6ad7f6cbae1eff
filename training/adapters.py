"""LoRA adapters over the shared trunk (Hu et al., 2021): one small file for each task, the trunk kept once."""

from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from torch import nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from training.cards import CHECKPOINTS
from training.masked_lm import NAME as TRUNK

EVERY_LINEAR_LAYER = r".*encoder\.layer\.\d+\..*(query|key|value|dense)"


def trunk_tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer saved with the trunk."""
    return AutoTokenizer.from_pretrained(CHECKPOINTS / TRUNK)


def adapted(model: PreTrainedModel, rank: int, heads: list[str]) -> PeftModel:
    """`model` with its trunk frozen, low-rank updates beside every linear layer, and its `heads` trained whole."""
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=EVERY_LINEAR_LAYER, modules_to_save=heads)
    # PEFT writes down where the trunk was loaded from; a path inside the repository holds on every machine.
    model.name_or_path = f"assets/checkpoints/{TRUNK}"
    wrapped = get_peft_model(model, config)
    for module in wrapped.modules():
        if isinstance(module, LoraLayer):
            # Autocast chooses the precision; a cast of every activation to float32 first would only cost time.
            module.cast_input_dtype_enabled = False
    return wrapped


def optimizer_of(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    """AdamW over the adapter and the heads."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(trained, lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def save_adapter(model: PeftModel, folder: Path) -> None:
    """Round the adapter to float16 and save it with the tokenizer and the whole model's configuration and labels."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.half()
    model.save_pretrained(folder, save_embedding_layers=False)
    model.get_base_model().config.save_pretrained(folder)
    trunk_tokenizer().save_pretrained(folder)
    for parameter in model.parameters():
        if parameter.requires_grad:
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
