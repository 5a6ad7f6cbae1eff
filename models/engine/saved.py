"""Graphs that are made once and kept as files in the user's cache, checked before they are read.

They are made by another process, so that torch does not stay in the memory of this one.
"""

import hashlib
import json
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

from models.errors import CheckpointUnavailable
from models.registry import Task

_ROOT = Path(__file__).parents[2]
ENCODER, STEP, SOURCE = "encoder", "step", "source"
"""The graphs of a model: an encoder with its head; a decoder's step; what an encoder-decoder's step looks up."""

_SUMS = "sums.json"
_LONGEST_S = 600.0
"""How long a conversion may take a slow machine."""

_FORGOTTEN_AFTER_S = 60 * 24 * 3600


def saved_graphs(task: Task, weights: Path, trunk: Path | None, *, half: bool) -> Path:
    """The folder with the graphs of a checkpoint: `weights` is its folder, `trunk` that of the model it adapts.

    They are made where they are not there yet, or damaged. Raises `CheckpointUnavailable` where that fails.
    """
    folder = cache_folder() / _key(weights, trunk, half)
    if not _is_whole(folder):
        _make(task, weights, trunk, folder, half)
        if not _is_whole(folder):
            raise CheckpointUnavailable(f"The model {weights.name} could not be prepared. Please choose another.")
        _forget_old(folder.parent)
    with suppress(OSError):
        os.utime(folder)
    return folder


@cache
def cache_folder() -> Path:
    """The user's cache; where nothing can be kept there, a folder that ends with this process."""
    kept = user_cache_path("clearhead") / "graphs"
    with suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
        if os.access(kept, os.W_OK):
            return kept
    _passing.append(tempfile.TemporaryDirectory(prefix="clearhead-"))
    return Path(_passing[0].name)


_passing: list[tempfile.TemporaryDirectory[str]] = []


def sums_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of each graph's files in `folder`, by name."""
    found = {}
    for path in sorted(folder.glob("*.[xb]*")):
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _is_whole(folder: Path) -> bool:
    """Return whether all files are there as they were written; OpenVINO would crash on a damaged one."""
    try:
        expected = json.loads((folder / _SUMS).read_text())
        return bool(expected) and sums_of(folder) == expected
    except (OSError, ValueError):
        return False


def _key(weights: Path, trunk: Path | None, half: bool) -> str:
    """A name for the graphs of these weights, as these libraries and this code make them."""
    digest = hashlib.sha256((Path(__file__).parent / "convert.py").read_bytes())
    digest.update(f"{version('openvino')} {version('transformers')} {version('torch')} {half}".encode())
    for folder in (weights, trunk):
        for path in (*sorted(folder.glob("*.safetensors")), folder / "config.json") if folder else ():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:24]


def _make(task: Task, weights: Path, trunk: Path | None, folder: Path, half: bool) -> None:
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    command = [sys.executable, "-m", "models.engine", task.value, str(weights), str(beside)]
    command += ["--trunk", str(trunk)] * (trunk is not None) + ["--half"] * half
    try:
        _run(command)
        (beside / _SUMS).write_text(json.dumps(sums_of(beside)))
        shutil.rmtree(folder, ignore_errors=True)
        # Where another process was quicker, its files are as good.
        with suppress(OSError):
            beside.rename(folder)
    except (subprocess.SubprocessError, OSError) as error:
        raise CheckpointUnavailable(
            f"The model {weights.name} could not be prepared. Please choose another."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _run(command: list[str]) -> None:
    # What the libraries warn about while they trace would be news to the host, and to nobody else.
    subprocess.run(  # noqa: S603 our own module
        command, cwd=_ROOT, check=True, timeout=_LONGEST_S, stdin=subprocess.DEVNULL, capture_output=True
    )


def _forget_old(graphs: Path) -> None:
    """Delete what nobody has loaded for long; another process may be deleting it, too."""
    for other in graphs.iterdir():
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _FORGOTTEN_AFTER_S:
                shutil.rmtree(other)
