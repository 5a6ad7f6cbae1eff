"""Published checkpoints: fetch the files of a pinned revision from the Hub, and nothing that could run code."""

from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from tqdm.auto import tqdm

from models.checkpoints import Checkpoint
from models.errors import CheckpointUnavailable
from models.loading import Progress

WEIGHTS = "model.safetensors"
# Pickled weights (`*.bin`, `*.pt`) can run code when they are opened, and Python files are code: neither is fetched.
_WANTED = ["*.json", "*.txt", "*.spm", "*.model", WEIGHTS]
_ANSWER_WITHIN_S = 5.0


def fetch(checkpoint: Checkpoint, progress: Progress) -> tuple[Path, str]:
    """The local folder of a published checkpoint and the commit it holds, downloaded if need be.

    Raises `CheckpointUnavailable` where the Hub cannot be reached or the repository has no safetensors weights.
    """
    progress(0.0, f"Asking the Hub for {checkpoint.title}")
    try:
        folder = _snapshot(checkpoint, local_files_only=True)
        if not (folder / WEIGHTS).exists():
            folder = _snapshot(checkpoint, tqdm_class=_reporting(checkpoint, progress))
    except LocalEntryNotFoundError:
        try:
            folder = _snapshot(checkpoint, tqdm_class=_reporting(checkpoint, progress))
        except (LocalEntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled, OSError) as error:
            raise CheckpointUnavailable(
                f"{checkpoint.title} could not be downloaded, because the model hub cannot be reached from here. "
                "Your text is kept and the bundled model is selected."
            ) from error
    if not (folder / WEIGHTS).exists():
        raise CheckpointUnavailable(
            f"{checkpoint.title} offers no safetensors weights, and weights of another kind are not loaded here."
        )
    return folder, folder.name


def _snapshot(checkpoint: Checkpoint, **options: object) -> Path:
    """The folder of `checkpoint`'s revision, named by its commit; `options` go to `snapshot_download`."""
    return Path(
        snapshot_download(  # type: ignore[call-overload]
            checkpoint.hub_id,
            revision=checkpoint.revision,
            allow_patterns=_WANTED,
            ignore_patterns=["*/*"],
            etag_timeout=_ANSWER_WITHIN_S,
            **options,
        )
    )


def _reporting(checkpoint: Checkpoint, progress: Progress) -> type[Any]:
    """A progress bar class that tells `progress` how many of the checkpoint's bytes have come."""

    class Reporting(tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            if self.unit == "B":
                done_mb = self.n / 1e6
                message = f"Downloading {checkpoint.title}: {done_mb:,.0f} of {checkpoint.size_mb:,} MB"
                progress(min(1.0, done_mb / checkpoint.size_mb), message)
            return shown

    return Reporting
