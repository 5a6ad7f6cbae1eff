"""Machine code as functions that Python can call; they let other threads run Python meanwhile."""

import ctypes
import logging
import subprocess
from collections.abc import Callable

from llvmlite import binding

from models.kernels import store
from models.kernels.processor import HELPING, target
from models.once import once
from models.waiting import LONGEST_LOAD_S

_log = logging.getLogger(__name__)

_makers: list["subprocess.Popen[bytes]"] = []
"""Nobody waits for them."""


def is_there(name: str) -> bool:
    """Whether nobody has to wait for the code of this `name`: its file is there, and whole."""
    return all(store.read(each, store.folder()) is not None for each in (name, HELPING))


@once
def begin(*names: str) -> None:
    """Have the code of these `names` made, for the next process; once."""
    _log.info("Passes are made for this processor, beside all else: the next start will use them.")
    _makers.append(store.begin_to_make(HELPING, *names))


def wait_for(name: str) -> bool:
    """Have the code of this `name` made now; whether it is there then."""
    if not is_there(name) and store.begin_to_make(*dict.fromkeys((HELPING, name))).wait(LONGEST_LOAD_S):
        _log.warning("The passes of a %s could not be made for this processor: it is read without them.", name)
        return False
    return True


@once
def address_of(name: str, function: str) -> int:
    """The address of a `function` of the code of this `name`, which is there."""
    return int(_engine(name).get_function_address(function))


def function_of(name: str, function: str, arguments: int) -> Callable[..., None]:
    """A `function` of the code of this `name`, which takes so many whole numbers of 64 bits."""
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)(address_of(name, function))
    return made


@once
def _engine(name: str) -> binding.ExecutionEngine:
    # Code lasts as long as its engine, which is kept for good.
    # llvmlite's manager asks for memory for all parts at once. LLVM's own may put the parts of an object further apart
    # than their addresses of 32 bits reach, where other threads take much memory meanwhile, and then ends the process
    # (https://github.com/llvm/llvm-project/issues/71963).
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target(), use_lmm=True)
    code = store.read(name, store.folder())
    if code is None and wait_for(name):
        code = store.read(name, store.folder())
    if code is None:
        raise RuntimeError(f"There is no code of a {name} for this processor.")
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
