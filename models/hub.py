"""Published checkpoints: fetch the files of a pinned revision from the Hub, and nothing that could run code."""

import errno
from pathlib import Path
from typing import Any

from httpx2 import HTTPError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.constants import HF_HUB_CACHE
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.file_download import repo_folder_name
from tqdm.auto import tqdm

from models.checkpoints import Checkpoint
from models.errors import CheckpointUnavailable
from models.loading import Progress

WEIGHTS = "model.safetensors"
# Pickled weights (`*.bin`, `*.pt`) can run code when they are opened, and Python files are code: neither is fetched.
_WANTED = ["*.json", "*.txt", "*.spm", "*.model", WEIGHTS]
_ANSWER_WITHIN_S = 5.0
_CONVERTER = "SFconvertbot"
_CONVERSION_TITLE = "Adding `safetensors` variant of this model"


def fetch(checkpoint: Checkpoint, progress: Progress) -> tuple[Path, str]:
    """The local folder of a published checkpoint and the commit it holds, downloaded if need be.

    Raises `CheckpointUnavailable` where the Hub cannot be reached or there are no safetensors weights.
    """
    progress(0.0, f"Asking the Hub for {checkpoint.title}")
    folder = _already_here(checkpoint)
    if folder is None:
        try:
            folder = _download(checkpoint, progress)
        except (LocalEntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled, HTTPError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise CheckpointUnavailable(
                    f"{checkpoint.title} could not be kept: there is no room left on this host's disk."
                ) from error
            raise CheckpointUnavailable(
                f"{checkpoint.title} could not be downloaded, because the model hub cannot be reached from here. "
                "Your text is kept and the bundled model is selected."
            ) from error
    if not (folder / WEIGHTS).exists():
        raise CheckpointUnavailable(
            f"{checkpoint.title} offers no safetensors weights, and weights of another kind are not loaded here."
        )
    return folder, folder.name


def is_downloaded(checkpoint: Checkpoint) -> bool:
    """Whether a published checkpoint is on this disk, so that it loads without the network."""
    return _already_here(checkpoint) is not None


def _already_here(checkpoint: Checkpoint) -> Path | None:
    """The folder of an earlier download that came to its end, found without the network."""
    cached = Path(HF_HUB_CACHE) / repo_folder_name(repo_id=checkpoint.hub_id, repo_type="model")
    if any(cached.glob("blobs/*.incomplete")):
        return None
    commits = [checkpoint.revision]
    commits += [reference.read_text().strip() for reference in cached.glob("refs/**/*") if reference.is_file()]
    folders = [cached / "snapshots" / commit for commit in commits]
    return next((folder for folder in folders if (folder / WEIGHTS).exists()), None)


def _download(checkpoint: Checkpoint, progress: Progress) -> Path:
    """The folder of the pinned revision, or of its conversion to safetensors where the revision has none."""
    # One short question first: `snapshot_download` asks six times over half a minute before it gives up.
    info = HfApi().model_info(checkpoint.hub_id, revision=checkpoint.revision, timeout=_ANSWER_WITHIN_S)
    revision = checkpoint.revision
    if WEIGHTS not in {sibling.rfilename for sibling in info.siblings or ()}:
        revision = _conversion(checkpoint.hub_id) or revision
    return Path(
        snapshot_download(
            checkpoint.hub_id,
            revision=revision,
            allow_patterns=_WANTED,
            ignore_patterns=["*/*"],
            etag_timeout=_ANSWER_WITHIN_S,
            tqdm_class=_reporting(checkpoint, progress),
        )
    )


def _conversion(hub_id: str) -> str | None:
    """The Hub's own conversion of pickled weights, which waits as a pull request of its bot in older repositories.

    transformers looks for the same one (https://huggingface.co/docs/safetensors/convert-weights).
    """
    proposals = HfApi().get_repo_discussions(
        hub_id, author=_CONVERTER, discussion_type="pull_request", discussion_status="open"
    )
    return next((each.git_reference for each in proposals if each.title == _CONVERSION_TITLE), None)


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
