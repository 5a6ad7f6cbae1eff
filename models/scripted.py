"""Functions that run from start to end without Python, by TorchScript.

Each operation that Python calls gives up the interpreter's lock and waits to have it back. A pass calls some hundred of
them, and where another visitor's thread computes in Python, each may wait for milliseconds. A scripted pass waits once.
"""

import sys
import warnings
from collections.abc import Callable
from typing import TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])

# Compiled for the sizes of its first calls, a pass would be compiled again and again: every text has another length.
torch._C._jit_set_profiling_executor(False)


_KNOWN_TO_WORK = (3, 14)
"""Before this version of Python TorchScript is supported; from it on it may be there or not."""


def scripted(function: Function) -> Function:
    """`function` as TorchScript; as it is where newer versions of Python have none.

    It may call other scripted functions, and uses tensors, numbers, strings and lists of these only.
    """
    try:
        with warnings.catch_warnings():
            # Of all that runs Python's code without Python, this alone needs no compiler on the host.
            warnings.simplefilter("ignore", DeprecationWarning)
            compiled: Function = torch.jit.script(function)
    except Exception:
        if sys.version_info < _KNOWN_TO_WORK:
            raise
        return function
    return compiled
