"""In what numbers the large products of a network are computed: exactly, or in fewer bits and quicker."""

from enum import StrEnum

import torch

from models.half_weights import can_be_half


class Precision(StrEnum):
    """How the linear layers inside a network multiply; everything between them, and the best scores, are float32.

    `FLOAT16` has weights of 11 bits of mantissa and rounds nothing else: for networks that write, which read all their
    weights for every token and would carry on what is rounded on the way. `BFLOAT16` rounds weights and inputs to 8
    bits and adds up in float32 (Kalamkar et al., 2019): for networks that only read, bound by arithmetic. Scores over a
    vocabulary are coarser still but for the best of them; see `models/coarse_scores.py`.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


AUTO = "auto"
"""The setting that leaves the precision to the machine."""


def offered(*, writes: bool) -> tuple[Precision, ...]:
    """What this machine can compute a network in that `writes`, or one that only reads, exact first."""
    on_cpu = not torch.cuda.is_available() and torch.backends.mkldnn.is_available()
    if writes:
        rounded = on_cpu and can_be_half()
        return (Precision.FLOAT32, Precision.FLOAT16) if rounded else (Precision.FLOAT32,)
    rounded = on_cpu and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return (Precision.FLOAT32, Precision.BFLOAT16) if rounded else (Precision.FLOAT32,)


def expected_bytes(parameters: int, setting: str, *, writes: bool) -> int:
    """About how much memory a network of so many `parameters` takes once it is loaded here.

    They are kept in float32, and on the CPU a second time in the order and the precision in which they are multiplied.
    """
    if torch.cuda.is_available():
        return 4 * parameters
    return (4 + (4 if chosen(setting, writes=writes) == Precision.FLOAT32 else 2)) * parameters


def chosen(setting: str, *, writes: bool) -> Precision:
    """What `setting` asks for, float32 where this machine cannot; `AUTO` takes what is quickest.

    Either of the shorter ones asks for that of the two which suits the network. oneDNN would compute in bfloat16 on
    other processors, too, but slower than in float32.
    """
    if setting not in (AUTO, *Precision):
        raise ValueError(f"no setting of the precision is called {setting!r}")
    quick = writes or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if setting == Precision.FLOAT32 or (setting == AUTO and not quick):
        return Precision.FLOAT32
    return offered(writes=writes)[-1]
