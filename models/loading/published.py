"""Fetch, check and prepare the standard published checkpoints, one for each task, in one go."""

import os
import shutil
from collections import Counter
from pathlib import Path

from huggingface_hub.constants import HF_HUB_CACHE

from models.engine import TORCH, EngineSettings, has_openvino, is_rounded
from models.errors import CheckpointUnavailable
from models.loading import Progress, silent
from models.loading.hub import bytes_kept, fetch, is_downloaded
from models.loading.prepared import prepare, writable_folder
from models.registry import STANDARD, Checkpoint
from models.wording import Sentence

_SPARE_BYTES = 300_000_000
"""The bytes left free on a disk, for the session log and other programs."""

_NO_ROOM = Sentence(
    "The published models need {needed:.1f} GB on the disk at {disk}, and {free:.1f} GB are free there; nothing was "
    "downloaded."
)


def fetch_standard(settings: EngineSettings, progress: Progress = silent) -> None:
    """Download, check and prepare all of `STANDARD`; what is on this disk already stays as it is.

    Raises `CheckpointUnavailable` with one sentence where there is no room, no Hub, or a damaged file. What was
    downloaded until then is kept, and the next call resumes from there.
    """
    _require_room(settings)
    count = len(STANDARD)
    for number, checkpoint in enumerate(STANDARD.values()):

        def told(fraction: float, message: str, number: int = number) -> None:
            said = Sentence("{number} of {count}: {message}", number=number + 1, count=count, message=message)
            progress((number + fraction) / count, said)

        folder, _ = fetch(checkpoint, told)
        prepare(checkpoint, folder, settings, told)


def _require_room(settings: EngineSettings) -> None:
    """Raise `CheckpointUnavailable` where a disk has no room for what is missing."""
    missing = [each for each in STANDARD.values() if not is_downloaded(each)]
    needed: Counter[Path] = Counter()
    needed[_disk_of(Path(HF_HUB_CACHE))] += sum(max(0, each.size_mb * 10**6 - bytes_kept(each)) for each in missing)
    needed[_disk_of(writable_folder())] += sum(_prepared_bytes(each, settings) for each in missing)
    for disk, count in needed.items():
        free = shutil.disk_usage(disk).free
        if count and count + _SPARE_BYTES > free:
            wanted_gb, free_gb = (count + _SPARE_BYTES) / 1e9, free / 1e9
            raise CheckpointUnavailable(Sentence(_NO_ROOM, needed=wanted_gb, disk=disk, free=free_gb))


def _prepared_bytes(checkpoint: Checkpoint, settings: EngineSettings) -> int:
    """Estimate the number of bytes that `prepare` writes for `checkpoint`."""
    if settings.engine == TORCH or not has_openvino():
        return 0
    return (2 if is_rounded(checkpoint.task, settings) else 4) * checkpoint.parameters


def _disk_of(path: Path) -> Path:
    """The mount point of the disk that `path` is on, or will be."""
    return next(each for each in (path.resolve(), *path.resolve().parents) if os.path.ismount(each))
