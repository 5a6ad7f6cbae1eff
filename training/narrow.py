"""Adapters in half the bytes: their matrices in 8-bit floating point, e4m3 (Micikevicius et al., 2022).

Such a number has four significant bits. A matrix so rounded is 2.7 % off, its errors as often up as down.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

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
