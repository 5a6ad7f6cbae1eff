"""Published checkpoints: fetch the files of a pinned revision from the Hub, and nothing that could run code.

Only the commit that the registry pins is loaded. Where the pin names none ("main"), or where its weights are of another
kind and the Hub's conversion of them is loaded instead, the commit of the first download is kept in a file of the cache
and is the pin from then on. Before weights are loaded, each file is held against the sum that the Hub gave for it.
"""

import errno
import hashlib
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from httpx2 import HTTPError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.constants import HF_HUB_CACHE
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.file_download import repo_folder_name
from tqdm.auto import tqdm

from models.cancellation import ASK_EVERY_S, go_on
from models.errors import CheckpointUnavailable, Overdue
from models.loading import Progress
from models.loading.package import packaged
from models.registry import Checkpoint

WEIGHTS = "model.safetensors"
# Pickled weights (`*.bin`, `*.pt`) can run code when they are opened, and Python files are code: neither is fetched.
_WANTED = ["*.json", "*.txt", "*.spm", "*.model", WEIGHTS]
_ANSWER_WITHIN_S = 5.0
_STALLED_AFTER_S = 300.0
"""The Hub's library tells of every 10 MB, for which a slow line takes a minute or two."""

_COMMIT = re.compile("[0-9a-f]{40}")
_PIN = "clearhead-pin"
"""A file beside the snapshots of a repository: the registry's revision and the commit that was loaded for it."""

_CONVERTER = "SFconvertbot"
_CONVERSION_TITLE = "Adding `safetensors` variant of this model"


def fetch(checkpoint: Checkpoint, progress: Progress) -> tuple[Path, str]:
    """The local folder of a published checkpoint and the commit it holds, downloaded if need be.

    Raises `CheckpointUnavailable` where the Hub cannot be reached or there are no safetensors weights.
    """
    progress(0.0, f"Asking the Hub for {checkpoint.title}")
    folder = _already_here(checkpoint)
    if folder is None or not _is_whole(folder):
        try:
            folder = _unless_it_stalls(lambda moving: _download(checkpoint, moving), progress)
        except (LocalEntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled, HTTPError, OSError) as error:
            why = (
                "downloaded, because the model hub cannot be reached from here. "
                "Your text is kept and the bundled model is selected."
            )
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                why = "kept: there is no room left on this host's disk."
            raise CheckpointUnavailable(f"{checkpoint.title} could not be {why}") from error
    if not (folder / WEIGHTS).exists():
        raise CheckpointUnavailable(
            f"{checkpoint.title} offers no safetensors weights, and weights of another kind are not loaded here."
        )
    return folder, folder.name


def _unless_it_stalls(download: Callable[[Progress], Path], progress: Progress) -> Path:
    """Return or raise what `download` does; raise `Overdue` once it has not moved for long, and `Stopped`.

    The Hub's library waits without a bound for another process that fetches the same file. A download that nobody
    waits for any more goes on by itself.
    """
    came: Future[Path] = Future()
    moved_at_s = time.monotonic()

    def moving(fraction: float, message: str) -> None:
        nonlocal moved_at_s
        moved_at_s = time.monotonic()
        progress(fraction, message)

    def fetch_it() -> None:
        try:
            came.set_result(download(moving))
        except BaseException as error:
            came.set_exception(error)

    # Not a thread of a pool: the process would wait for it at its end.
    threading.Thread(target=fetch_it, name="download", daemon=True).start()
    while not wait([came], ASK_EVERY_S).done:
        go_on()
        if time.monotonic() - moved_at_s > _STALLED_AFTER_S:
            raise Overdue
    return came.result()


def is_downloaded(checkpoint: Checkpoint) -> bool:
    """Whether a published checkpoint is on this disk, so that it loads without the network."""
    return packaged(checkpoint) is not None or _already_here(checkpoint) is not None


def _cached(checkpoint: Checkpoint) -> Path:
    """The folder of its repository in the Hub's cache, whether it is there or not."""
    return Path(HF_HUB_CACHE) / repo_folder_name(repo_id=checkpoint.hub_id, repo_type="model")


def _already_here(checkpoint: Checkpoint) -> Path | None:
    """The folder of an earlier download of a pinned commit that came to its end, found without the network."""
    cached = _cached(checkpoint)
    if any(cached.glob("blobs/*.incomplete")):
        return None
    for pin in (checkpoint.revision, _kept_pin(checkpoint)):
        if pin and _COMMIT.fullmatch(pin) and (cached / "snapshots" / pin / WEIGHTS).exists():
            return cached / "snapshots" / pin
    return None


def _kept_pin(checkpoint: Checkpoint) -> str | None:
    """The commit that an earlier download of this revision brought, if one was kept."""
    try:
        revision, commit = (_cached(checkpoint) / _PIN).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return commit if revision == checkpoint.revision and _COMMIT.fullmatch(commit) else None


def _is_whole(folder: Path) -> bool:
    """Whether each file of a snapshot still has the sum by which the Hub names it; a damaged one is deleted.

    The cache keeps a file under its sha256, or a small one under the sha1 that git gives it. Where the disk has no
    links, files bear no sums and count as whole.
    """
    whole = True
    for file in folder.iterdir():
        kept = file.resolve()
        if not kept.is_file() or not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", kept.name):
            continue
        with kept.open("rb") as content:
            if len(kept.name) == 64:
                found = hashlib.file_digest(content, "sha256")
            else:
                found = hashlib.sha1(b"blob %d\0" % kept.stat().st_size + content.read(), usedforsecurity=False)
        if found.hexdigest() != kept.name:
            whole = False
            file.unlink()
            kept.unlink(missing_ok=True)
    return whole


def _download(checkpoint: Checkpoint, progress: Progress) -> Path:
    """The folder of the pinned commit.

    Where that has no safetensors, it is the Hub's own conversion of its pickled weights, which waits as a pull request
    of its bot (https://huggingface.co/docs/safetensors/convert-weights); transformers looks for the same one.
    """
    hub, kept = HfApi(), _kept_pin(checkpoint)
    asked = kept or checkpoint.revision
    # One short question first: `snapshot_download` asks six times over half a minute before it gives up.
    info = hub.model_info(checkpoint.hub_id, revision=asked, timeout=_ANSWER_WITHIN_S)
    if _COMMIT.fullmatch(asked) and info.sha != asked:
        raise CheckpointUnavailable(f"The model hub has no {checkpoint.title} of the version that is offered here.")
    if kept is None and WEIGHTS not in {sibling.rfilename for sibling in info.siblings or ()}:
        proposals = hub.get_repo_discussions(
            checkpoint.hub_id, author=_CONVERTER, discussion_type="pull_request", discussion_status="open"
        )
        conversion = next((each.git_reference for each in proposals if each.title == _CONVERSION_TITLE), None)
        if conversion is not None:
            info = hub.model_info(checkpoint.hub_id, revision=conversion, timeout=_ANSWER_WITHIN_S)
    commit = str(info.sha)
    folder = Path(
        snapshot_download(
            checkpoint.hub_id,
            revision=commit,
            allow_patterns=_WANTED,
            ignore_patterns=["*/*"],
            etag_timeout=_ANSWER_WITHIN_S,
            tqdm_class=_reporting(checkpoint, progress),
        )
    )
    if commit != checkpoint.revision and (folder / WEIGHTS).exists():
        (_cached(checkpoint) / _PIN).write_text(f"{checkpoint.revision} {commit}\n", encoding="utf-8")
    return folder


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
