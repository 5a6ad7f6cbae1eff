"""Machine code of what takes part in passes, as files that `models/compiled` loads."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numba
from llvmlite import binding
from numba import types

from models.kernels.processor import target

_CALL = """
define void @{name}({arguments}) {{
  %value = alloca ptr
  %error = alloca ptr
  %status = call i32 @{made}(ptr %value, ptr %error, {arguments})
  ret void
}}
"""
"""A plain function of C around one as Numba calls it, which can tell of errors; a pass has none to tell of."""

_NEVER = "define void @NRT_MemInfo_call_dtor(ptr %memory) { ret void }"
"""What Numba would do with memory of its own: a pass has none."""


def machine_code(functions: Mapping[str, Callable[..., None]]) -> bytes:
    """An object file of `functions` by their names, whose arguments are whole numbers of 64 bits.

    It needs nothing but the C library.
    """
    module = binding.parse_assembly(_NEVER)
    for name, function in functions.items():
        module.link_in(_module(name, function))
    for each in module.functions:
        if not each.is_declaration and each.name not in functions:
            # What Numba made to call it from Python goes, with all that it would need of Numba.
            each.linkage = "internal"
    made_for = target()
    builder = binding.create_pass_builder(made_for, binding.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    code: bytes = made_for.emit_object(module)
    return code


def _module(name: str, function: Callable[..., None]) -> binding.ModuleRef:
    """LLVM's code of a `function`, which can be called by its `name`."""
    count = len(signature(function).parameters)
    made: Any = numba.cfunc(types.void(*[types.int64] * count))(getattr(function, "py_func", function))
    arguments = ", ".join(f"i64 %a{number}" for number in range(count))
    call = _CALL.format(name=name, arguments=arguments, made=made.native_name.removeprefix("cfunc."))
    return binding.parse_assembly(made.inspect_llvm() + call)
