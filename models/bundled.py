"""Bundled checkpoints read straight into their networks.

transformers' own way to load goes through tensors without numbers, for which torch imports what takes longer than the
rest; and PEFT merges adapters of many kinds, of which ours are one.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, GenerationConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

ADAPTER = "adapter_model.safetensors"
WEIGHTS = "model.safetensors"
_WRAPPED = "base_model.model."
_OF_LORA = (".lora_A.weight", ".lora_B.weight")


def read_bundled(auto_model: Any, folder: Path, base: Path | None) -> PreTrainedModel:
    """The network of `folder` in float32; of an adapter folder, its trunk `base` with the adapter merged in."""
    with no_init_weights():
        network: PreTrainedModel = auto_model.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32)
    network.tie_weights()
    missing = _fill(network, load_file((base or folder) / WEIGHTS))
    missing -= _compute_positions(network)
    if base is not None:
        missing -= _merge(network, load_file(folder / ADAPTER), _scale(folder))
    if missing:
        raise ValueError(f"{folder.name} has no weights for {', '.join(sorted(missing))}")
    if network.can_generate():
        network.generation_config = GenerationConfig.from_pretrained(folder)
    return network


@torch.no_grad()
def _fill(network: nn.Module, tensors: dict[str, Tensor]) -> set[str]:
    """Put `tensors` in their places; the names of the places that are left. A trunk may have a head of no use here."""
    places = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    for name in places.keys() & tensors.keys():
        places[name].copy_(tensors[name])
    return dict(network.named_parameters()).keys() - tensors.keys()


@torch.no_grad()
def _compute_positions(network: nn.Module) -> set[str]:
    """Fill in the positions that are sines and no file holds; their names."""
    positions = {
        f"{name}.weight": module
        for name, module in network.named_modules()
        if isinstance(module, MarianSinusoidalPositionalEmbedding)
    }
    for module in positions.values():
        module.weight.copy_(module.create_weight())
    return set(positions)


@torch.no_grad()
def _merge(network: nn.Module, tensors: dict[str, Tensor], scale: float) -> set[str]:
    """Add the low-rank changes (LoRA, Hu et al., 2021), and put in what was trained whole; the names of the latter."""
    places = dict(network.named_parameters())
    whole = set()
    for name, tensor in tensors.items():
        place = name.removeprefix(_WRAPPED)
        if place.endswith(_OF_LORA[0]):
            other = tensors[name.replace(*_OF_LORA)]
            places[place.replace(_OF_LORA[0], ".weight")].add_((other.float() @ tensor.float()) * scale)
        elif not place.endswith(_OF_LORA[1]):
            place = place.replace(".base_layer.", ".")
            places[place].copy_(tensor)
            whole.add(place)
    return whole


def _scale(folder: Path) -> float:
    """By how much the low-rank changes are multiplied; raises `ValueError` for adapters of other kinds."""
    told = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    if told["peft_type"] != "LORA" or any(
        told[kind] for kind in ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern", "fan_in_fan_out")
    ):
        raise ValueError(f"{folder.name} is an adapter of another kind")
    return float(told["lora_alpha"] / told["r"])
