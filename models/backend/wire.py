"""The protocol of a page and a worker: frames of pickles that may hold only typed values of Clearhead.

A frame is a length in four bytes (big-endian) and that many bytes; an empty one says that the worker is alive. The
names in a pickle are checked here, so that a forged one can call nothing (Python's documentation of `pickle`,
"Restricting Globals").
"""

import hashlib
import io
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from models.backend import asks
from models.errors import InputError
from models.registry import Task
from models.wording import Sentence

ALIVE = bytes(4)
"""The empty frame."""

ALIVE_EVERY_S = 0.5
"""The interval of `ALIVE` while a worker computes; at each the page checks whether its visitor still waits."""

RELEASE = "x-clearhead-models"
"""The header with the `release()` of a page; a worker of another release refuses the request."""

_LENGTH_BYTES = 4
_PLAIN = {
    ("builtins", "bytearray"),
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
}


@dataclass(frozen=True)
class Request:
    """A call of a function of `asks`: the model by its checkpoint and task, and the other arguments."""

    ask: Any
    checkpoint: str
    task: Task | None
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclass(frozen=True)
class Value:
    """The result of a request, or one more step of it."""

    value: Any


@dataclass(frozen=True)
class Refused:
    """An `InputError`, whose class in `models.errors` is `kind`."""

    kind: str
    sentence: str
    field: str


@dataclass(frozen=True)
class Failed:
    """An error that no visitor can mend; the worker's log has it."""


@dataclass(frozen=True)
class Ended:
    """The end of an answer."""


def dump(value: Any) -> bytes:
    """`value` as a pickle, which `load` reads."""
    return pickle.dumps(value, protocol=5)


def frame(value: Any) -> bytes:
    """`value` as a frame."""
    body = dump(value)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def read_frames(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Yield the values of the frames in `chunks`, `None` for an empty frame; raises `UnpicklingError`."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        while len(held) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(held[:_LENGTH_BYTES], "big")
            if len(held) < end:
                break
            body = bytes(held[_LENGTH_BYTES:end])
            del held[:end]
            yield load(body) if body else None


def load(body: bytes) -> Any:
    """The value in a pickle; raises `UnpicklingError` if it names anything but typed values and functions of `asks`."""
    return _Unpickler(io.BytesIO(body)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if module.startswith("models.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, FunctionType) and found.__module__ == module == asks.__name__:
                return found
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum | Sentence | tuple)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value that a page and a worker send one another")


def refusal(error: InputError) -> Refused:
    """`error` as a value to send."""
    return Refused(type(error).__name__, error.sentence, error.field)


@cache
def release() -> str:
    """A digest of the source code of this installation's `models`, the registry included."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"\0".join(each.read_bytes() for each in sources)).hexdigest()[:16]
