"""Passes as code for this very processor, where that pays; elsewhere torch's operations stay (`models/lean`).

A token of a large decoder takes as long as its weights take to come from memory, and an encoder's pass as long as its
products take: here one call reads a whole pass, whose threads share each product's outputs and wait for each other for
about a microsecond. The code is `models/kernels`.
"""

import sys
from enum import Enum
from typing import TYPE_CHECKING

import torch
from transformers import GPT2LMHeadModel, PreTrainedModel

from models.precision import Precision
from models.sizes import is_small

if TYPE_CHECKING:
    from models.compiled.encoder import CompiledEncoder
    from models.compiled.gpt2 import CompiledGPT2

_NAME = "compiled"


class Compiled(Enum):
    """How much of a network is compiled: its blocks, or all from ids to the best words."""

    NOTHING = 0
    BLOCKS = 1
    WHOLE = 2


def reads_decoders() -> bool:
    """Whether this machine gains by compiled decoders: their products are written for 32 registers of 16 numbers."""
    return torch.cpu._is_avx512_supported() and sys.platform == "linux"


def reads_encoders() -> bool:
    """Whether it gains by compiled encoders: by dot products in bfloat16, and where there are no tiles (AMX).

    With tiles oneDNN's products are quicker.
    """
    return reads_decoders() and torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()


def compile_passes(network: PreTrainedModel, precision: Precision) -> Compiled:
    """Let passes of `network` in this `precision` be compiled, where that pays, and say how much of them is.

    Whoever changes a weight afterwards must call again. Code of a large decoder is waited for if it is not there yet,
    which takes some seconds; code of an encoder is begun, and the next process has it.
    """
    vars(network).pop(_NAME, None)
    if network.device.type != "cpu" or network.dtype != torch.float32:
        return Compiled.NOTHING
    if may_be_whole(network, precision):
        from models.compiled.code import wait_for
        from models.compiled.gpt2 import CompiledGPT2
        from models.kernels.processor import DECODER

        if wait_for(DECODER):
            vars(network)[_NAME] = CompiledGPT2(network)  # type: ignore[arg-type]
            return Compiled.WHOLE
    if precision == Precision.BFLOAT16 and reads_encoders():
        from models.compiled.encoder import encoder_of

        encoder = encoder_of(network)
        if encoder is not None:
            vars(network)[_NAME] = encoder
            return Compiled.BLOCKS
    return Compiled.NOTHING


def may_be_whole(network: PreTrainedModel, precision: Precision) -> bool:
    """Whether passes of `network` gain by being compiled whole; small ones gain nothing that shows."""
    if precision != Precision.FLOAT16 or type(network) is not GPT2LMHeadModel or is_small(network):
        return False
    from models.compiled.gpt2_weights import fits

    return reads_decoders() and fits(network.config)


def compiled_passes(network: PreTrainedModel) -> "CompiledGPT2 | None":
    """What `compile_passes` has made of a decoder, if anything."""
    return vars(network).get(_NAME)


def compiled_encoder(network: PreTrainedModel) -> "CompiledEncoder | None":
    """What `compile_passes` has made of an encoder, if anything."""
    return vars(network).get(_NAME)
