"""The processor that code is made for, as LLVM knows it, and which code it gains by."""

import sys

from llvmlite import binding

HELPING, ENCODER, ATTENTION, DECODER = "helping", "encoder", "attention", "decoder"

NAMES = (ENCODER, ATTENTION, DECODER)
"""Passes by the names of their code: of encoders for answers, and for attention that is looked at; of decoders.

What helps with them comes along.
"""

NAME = binding.get_host_cpu_name()

FEATURES = f"{binding.get_host_cpu_features().flatten()},-prefer-256-bit"
"""On some processors LLVM takes registers of 8 numbers, of which tiles would need twice as many as there are."""


def is_worth_it(name: str) -> bool:
    """Whether this machine gains by the pass of this `name`.

    Products were written for 32 registers of 16 numbers, an encoder's for their dot products in bfloat16. Where there
    are tiles (AMX), oneDNN's products are quicker than those. Threads that help sleep as they do in Linux.
    """
    has = binding.get_host_cpu_features()
    if sys.platform != "linux" or not has.get("avx512f"):
        return False
    return name == DECODER or bool(has.get("avx512bf16") and not has.get("amx-bf16"))


def target() -> binding.TargetMachine:
    """What LLVM makes code for; whoever runs code owns it."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    found = binding.Target.from_default_triple()
    return found.create_target_machine(cpu=NAME, features=FEATURES, opt=3, reloc="pic", codemodel="small", jit=True)
