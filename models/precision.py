"""In what numbers the large products of a network are computed: exactly, or in fewer bits and quicker."""

from enum import StrEnum

import torch


class Precision(StrEnum):
    """How the linear layers inside a network multiply; everything between them, and the best scores, are float32.

    `BFLOAT16` rounds weights and inputs to 8 bits of mantissa and adds up in float32 (Kalamkar et al., 2019). Scores
    over a vocabulary are coarser still but for the best of them; see `models/coarse_scores.py`.
    """

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


AUTO = "auto"
"""The setting that leaves the precision to the machine."""


def offered() -> tuple[Precision, ...]:
    """What this machine can compute in, exact first."""
    on_cpu = not torch.cuda.is_available() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    rounded = on_cpu and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return (Precision.FLOAT32, Precision.BFLOAT16) if rounded else (Precision.FLOAT32,)


def chosen(setting: str) -> Precision:
    """What `setting` asks for, float32 where this machine cannot; `AUTO` is bfloat16 where the processor knows it.

    oneDNN would compute in bfloat16 on other processors, too, but slower than in float32.
    """
    if setting == AUTO:
        quick = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        setting = Precision.BFLOAT16 if quick else Precision.FLOAT32
    return Precision(setting) if setting in offered() else Precision.FLOAT32
