"""A large decoder's pass as code for this very processor, made by Numba (https://numba.pydata.org).

A token of a large decoder takes as long as its weights take to come from memory, and little more may be in between:
here one call reads a whole pass, whose threads share each product's outputs and wait for each other for about a
microsecond. Numba brings its compiler along, no host needs one. Where it does not pay, torch's operations stay
(`models/lean`).
"""

import os
from typing import TYPE_CHECKING

import torch
from transformers import GPT2LMHeadModel, PreTrainedModel

from models.sizes import is_small

if TYPE_CHECKING:
    from models.compiled.gpt2 import CompiledGPT2

_NAME = "compiled"


def is_worth_it() -> bool:
    """Whether this processor has what the products were written for: 32 registers of 16 numbers."""
    return torch.cpu._is_avx512_supported() and hasattr(os, "sched_yield")


def may_compile(network: PreTrainedModel) -> bool:
    """Whether passes of `network` gain by it; Numba itself takes memory and time that small networks do not have."""
    on_cpu = network.device.type == "cpu" and network.dtype == torch.float32
    if type(network) is not GPT2LMHeadModel or not on_cpu or is_small(network) or not is_worth_it():
        return False
    from models.compiled.weights import fits

    return fits(network.config)


def compile_passes(network: PreTrainedModel) -> None:
    """Let passes of `network` be compiled; whoever changes a weight afterwards must call again."""
    from models.compiled.gpt2 import CompiledGPT2

    vars(network)[_NAME] = CompiledGPT2(network)  # type: ignore[arg-type]


def compiled_passes(network: PreTrainedModel) -> "CompiledGPT2 | None":
    """What `compile_passes` has made of `network`, if anything."""
    found: CompiledGPT2 | None = vars(network).get(_NAME)
    return found
