"""Prepared checkpoints: graphs for OpenVINO and a description, made once and kept in the user's cache folder.

Their checksums are verified before they are read. A subprocess makes them, so that this process loads no torch.
"""

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

from models.engine import EngineSettings, is_rounded, uses_openvino
from models.errors import CheckpointUnavailable
from models.loading import Progress, silent
from models.registry import BUNDLED, Checkpoint, Task
from models.wording import Sentence

_ROOT = Path(__file__).parents[2]
PACKED = ".gguf"
"""The suffix of a file of weights in a Python package; reading one needs the package `gguf`."""

_READ = (PACKED, ".json", ".model", ".safetensors", ".spm", ".txt")
_MADE_BY = ("engine/convert.py", "loading/description.py")
_SUMS = "sums.json"
_LONGEST_S = 600.0
"""The longest time that a conversion may take, for a slow machine."""

_FORGOTTEN_AFTER_S = 60 * 24 * 3600


def prepare(
    checkpoint: Checkpoint, weights: Path, settings: EngineSettings, progress: Progress = silent
) -> Path | None:
    """The folder with the graphs and description of `checkpoint`, made from its files in `weights` if need be.

    It is `None` where PyTorch computes its answers. Raises `CheckpointUnavailable`.
    """
    config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
    if not uses_openvino(config["model_type"], settings):
        return None
    said = Sentence(
        "Preparing {model} for quick answers; this happens once and takes some seconds", model=checkpoint.title
    )
    half, trunk = is_rounded(checkpoint.task, settings), trunk_of(checkpoint)
    return prepared_folder(checkpoint.task, weights, trunk, half=half, on_making=lambda: progress(1.0, said))


def prepared_folder(
    task: Task, weights: Path, trunk: Path | None, *, half: bool, on_making: Callable[[], None] = lambda: None
) -> Path:
    """The folder with what was made from the checkpoint in `weights`, in float16 where `half`, else in float32.

    `trunk` is the folder of the model that it was fine-tuned from. If the folder is missing or damaged, `on_making` is
    called and the folder made. Raises `CheckpointUnavailable` where that fails.
    """
    name = _key(weights, trunk, half)
    # A folder that was made when a container image was built is used even where nothing can be written.
    folder = kept_folder() / name
    if not _is_whole(folder):
        folder = writable_folder() / name
    if not _is_whole(folder):
        on_making()
        _make(task, weights, trunk, folder, half)
        _forget_old(folder.parent)
    with suppress(OSError):
        os.utime(folder)
    return folder


def packaged(checkpoint: Checkpoint) -> Path | None:
    """The file of weights of `checkpoint` in a Python package, `None` unless that and `gguf` are installed."""
    package, _, name = checkpoint.package.partition("/")
    spec = find_spec(package) if package and find_spec("gguf") else None
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / name
    return file if file.is_file() else None


def kept_folder() -> Path:
    """The folder for prepared checkpoints in the user's cache, whether it exists or not."""
    return user_cache_path("clearhead") / "graphs"


@cache
def writable_folder() -> Path:
    """The folder in the user's cache or, if it cannot be written, a temporary one that is deleted with this process."""
    kept = kept_folder()
    with suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
        if os.access(kept, os.W_OK):
            return kept
    passing = tempfile.mkdtemp(prefix="clearhead-")
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return Path(passing)


def trunk_of(checkpoint: Checkpoint) -> Path | None:
    """The folder of the bundled checkpoint that `checkpoint` was fine-tuned from and shares weights with, if any."""
    return BUNDLED / checkpoint.base if checkpoint.base else None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of each prepared file in `folder`, by name."""
    return {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.name != _SUMS}


def _is_whole(folder: Path) -> bool:
    """Return whether all files are there as they were written; OpenVINO would crash on a damaged one."""
    try:
        expected = json.loads((folder / _SUMS).read_text())
        return bool(expected) and sums_of(folder) == expected
    except (OSError, ValueError):
        return False


def _key(weights: Path, trunk: Path | None, half: bool) -> str:
    """The name of a prepared folder, a digest of the weights, the precision, the libraries' versions and the code."""
    digest = hashlib.sha256(f"{half}".encode())
    for library in ("openvino", "tokenizers", "torch", "transformers"):
        with suppress(PackageNotFoundError):
            digest.update(version(library).encode())
    for part in _MADE_BY:
        digest.update((Path(__file__).parents[1] / part).read_bytes())
    for folder in (weights, trunk):
        for path in sorted(folder.iterdir() if folder.is_dir() else [folder]) if folder else ():
            if path.suffix in _READ:
                digest.update(f"{path.name} {sha256_of(path)}".encode())
    return digest.hexdigest()[:24]


def _make(task: Task, weights: Path, trunk: Path | None, folder: Path, half: bool) -> None:
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    command = [sys.executable, "-m", "models.loading", task.value, str(weights), str(beside)]
    command += ["--trunk", str(trunk)] * (trunk is not None) + ["--half"] * half
    try:
        _run(command)
        (beside / _SUMS).write_text(json.dumps(sums_of(beside)))
        # If another process was quicker, its files stay: they are as good, and may be in use.
        if not _is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            beside.rename(folder)
        if not _is_whole(folder):
            raise FileNotFoundError(folder)
    except (subprocess.SubprocessError, OSError) as error:
        raise CheckpointUnavailable(
            Sentence("The model {model} could not be prepared. Please choose another.", model=weights.name)
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _run(command: list[str]) -> None:
    # Output is captured: the libraries' warnings while they trace are expected and would only alarm the host.
    subprocess.run(  # noqa: S603 our own module
        command, cwd=_ROOT, check=True, timeout=_LONGEST_S, stdin=subprocess.DEVNULL, capture_output=True
    )


def _forget_old(graphs: Path) -> None:
    """Delete folders that nobody has loaded for `_FORGOTTEN_AFTER_S`; another process may be deleting them, too."""
    for other in graphs.iterdir():
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _FORGOTTEN_AFTER_S:
                shutil.rmtree(other)
