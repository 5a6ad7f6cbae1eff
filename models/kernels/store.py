"""Where machine code is kept: once for each processor and each state of the code that it was made from."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

from models.kernels.processor import FEATURES, NAME

_HERE = Path(__file__).parent
_SUM_BYTES = hashlib.sha256().digest_size
FORGOTTEN_AFTER_S = 60 * 24 * 3600
"""Code of another state, perhaps of another copy of this project, is kept as long as somebody loads it now and then."""


@cache
def _state() -> str:
    """What code depends on, in a few letters."""
    sources = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))
    makers = f"{NAME} {FEATURES} {version('numba')} {version('llvmlite')}"
    return hashlib.sha256(sources + makers.encode()).hexdigest()[:12]


@cache
def folder() -> Path:
    """The user's cache; where nothing can be kept there, a folder that goes with this process."""
    kept = user_cache_path("clearhead") / "compiled" / _state()
    try:
        kept.mkdir(parents=True, exist_ok=True)
        os.utime(kept)
    except OSError:
        return _passing()
    return kept if os.access(kept, os.W_OK) else _passing()


def _passing() -> Path:
    made = _own.setdefault("folder", tempfile.TemporaryDirectory(prefix="clearhead-"))
    return Path(made.name)


_own: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Removed when Python ends."""


def path_of(name: str, of: Path) -> Path:
    """The file in the folder `of` for the code of this name, whether it is there or not: its sha256, then the code."""
    return of / f"{name}.o"


def read(name: str, of: Path) -> bytes | None:
    """The code of this name; None where there is none, or where its file is damaged, which is then deleted.

    A damaged object file would end the process with a segmentation fault.
    """
    path = path_of(name, of)
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    code = kept[_SUM_BYTES:]
    if hashlib.sha256(code).digest() == kept[:_SUM_BYTES]:
        return code
    with suppress(OSError):
        path.unlink()
    return None


def keep(name: str, code: bytes, to: Path) -> None:
    """Write `code`; whoever looks meanwhile finds nothing, or all."""
    handle, beside = tempfile.mkstemp(dir=to)
    with os.fdopen(handle, "wb") as file:
        file.write(hashlib.sha256(code).digest() + code)
    Path(beside).replace(path_of(name, to))


def forget_others() -> None:
    """Delete the code of other states that nobody has loaded for long."""
    own = folder()
    if str(own) in (each.name for each in _own.values()):
        return
    for other in own.parent.iterdir():
        # Another process may be deleting it, too.
        with suppress(OSError):
            if other != own and time.time() - other.stat().st_mtime > FORGOTTEN_AFTER_S:
                shutil.rmtree(other)


def begin_to_make(*names: str) -> "subprocess.Popen[bytes]":
    """A process that makes the code of these names: Numba would stay in the memory of this one."""
    command = [sys.executable, "-m", "models.kernels", "--folder", str(folder()), *names]
    return subprocess.Popen(command, cwd=_HERE.parents[1], stdin=subprocess.DEVNULL)  # noqa: S603 our own module
