"""Published checkpoints: fetch the files of a pinned revision from the Hub, and nothing that could run code.

Only the commit that the registry pins is loaded. Where the pin is a branch ("main"), or where its weights are not
safetensors and the Hub's conversion of them is loaded instead, the commit of the first download is kept in a file of
the cache and is the pin from then on. Each file's checksum is compared with the Hub's, after its download and before
its weights are loaded. An interrupted download of weights is resumed.
"""

import errno
import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from httpx2 import HTTPError
from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_download, hf_hub_url, snapshot_download
from huggingface_hub.constants import HF_HUB_CACHE
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.file_download import http_get, repo_folder_name
from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]
from tqdm.auto import tqdm

from models.cancellation import ASK_EVERY_S, go_on
from models.errors import CheckpointUnavailable, Overdue
from models.loading import Progress
from models.loading.prepared import packaged, sha256_of
from models.registry import Checkpoint
from models.wording import Sentence

_log = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
# Pickled weights (`*.bin`, `*.pt`) can run code when they are opened, and Python files are code: neither is fetched.
_BESIDE_WEIGHTS = ["*.json", "*.txt", "*.spm", "*.model"]
_ANSWER_WITHIN_S = 5.0
_STALLED_AFTER_S = 300.0
"""The Hub's library reports every 10 MB, which take a slow connection a minute or two."""

_COMMIT = re.compile("[0-9a-f]{40}")
_PIN = "clearhead-pin"
"""A file beside the snapshots of a repository: the registry's revision and the commit that was loaded for it."""

_CONVERTER = "SFconvertbot"
_CONVERSION_TITLE = "Adding `safetensors` variant of this model"

_UNREACHABLE = Sentence("{model} could not be downloaded, because the model hub cannot be reached from here.")
_NO_ROOM = Sentence("{model} could not be kept: there is no room left on this host's disk.")
_NO_SAFETENSORS = Sentence("{model} offers no safetensors weights, and weights of another kind are not loaded here.")
_OTHER_VERSION = Sentence("The model hub has no {model} of the version that is offered here.")
_DAMAGED = Sentence(
    "A file of {model} arrived damaged: it did not have the checksum that the model hub says, and was thrown away. "
    "Please try again."
)
_DOWNLOADING = Sentence("Downloading {model}: {done:,.0f} of {size:,} MB")


def fetch(checkpoint: Checkpoint, progress: Progress) -> tuple[Path, str]:
    """The local folder of a published checkpoint and the commit it holds, downloaded if need be.

    Raises `CheckpointUnavailable` where the Hub cannot be reached or lacks the pinned commit, the disk is full, a file
    does not match the Hub's checksum, or there are no safetensors weights.
    """
    progress(0.0, Sentence("Asking the Hub for {model}", model=checkpoint.title))
    folder = _already_here(checkpoint)
    if folder is None or not _is_whole(folder):
        try:
            folder = _unless_it_stalls(lambda moving: _download(checkpoint, moving), progress)
        except (LocalEntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled, HTTPError, OSError) as error:
            is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            raise _unavailable(checkpoint, _NO_ROOM if is_full else _UNREACHABLE) from error
        if not _is_whole(folder):
            raise _unavailable(checkpoint, _DAMAGED)
    if not (folder / WEIGHTS).exists():
        raise _unavailable(checkpoint, _NO_SAFETENSORS)
    return folder, folder.name


def _unavailable(checkpoint: Checkpoint, sentence: str) -> CheckpointUnavailable:
    return CheckpointUnavailable(Sentence(sentence, model=checkpoint.title))


def _unless_it_stalls(download: Callable[[Progress], Path], progress: Progress) -> Path:
    """Run `download` in a thread, and return or raise what it does; raise `Overdue` if it stalls, and `Stopped`.

    The Hub's library waits without a bound for another process that fetches the same file. A download that nobody
    waits for any more goes on in its thread.
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

    # Not a thread of a pool, which the process would wait for before it exits.
    threading.Thread(target=fetch_it, name="download", daemon=True).start()
    while not wait([came], ASK_EVERY_S).done:
        go_on()
        if time.monotonic() - moved_at_s > _STALLED_AFTER_S:
            raise Overdue
    return came.result()


def is_downloaded(checkpoint: Checkpoint) -> bool:
    """Whether a published checkpoint is on this disk, so that it loads without the network."""
    return packaged(checkpoint) is not None or _already_here(checkpoint) is not None


def bytes_kept(checkpoint: Checkpoint) -> int:
    """The number of bytes of a checkpoint that are on this disk, be it all or a part."""
    return sum(each.stat().st_size for each in _cached(checkpoint).glob("blobs/*"))


def _cached(checkpoint: Checkpoint) -> Path:
    """The folder of the checkpoint's repository in the Hub's cache, whether it exists or not."""
    return Path(HF_HUB_CACHE) / repo_folder_name(repo_id=checkpoint.hub_id, repo_type="model")


def _already_here(checkpoint: Checkpoint) -> Path | None:
    """The folder of an earlier, complete download of a pinned commit, found without the network; `None` for none."""
    cached = _cached(checkpoint)
    for pin in (checkpoint.revision, _kept_pin(checkpoint)):
        if pin and _COMMIT.fullmatch(pin) and (cached / "snapshots" / pin / WEIGHTS).exists():
            return cached / "snapshots" / pin
    return None


def _kept_pin(checkpoint: Checkpoint) -> str | None:
    """The commit that an earlier download of this revision kept in `_PIN`, if any."""
    try:
        revision, commit = (_cached(checkpoint) / _PIN).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return commit if revision == checkpoint.revision and _COMMIT.fullmatch(commit) else None


def _is_whole(folder: Path) -> bool:
    """Whether each file of a snapshot still has the checksum that the cache names it by; a damaged one is deleted.

    The cache names a file by its sha256, or a small one by the sha1 that git gives it. On a disk without symbolic links
    files have other names, and count as whole.
    """
    whole = True
    for file in folder.iterdir():
        kept = file.resolve()
        if not kept.is_file() or not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", kept.name):
            continue
        if not _has_sum(kept, kept.name):
            _log.warning("%s did not have the Hub's checksum and was deleted", file)
            whole = False
            file.unlink()
            kept.unlink(missing_ok=True)
    return whole


def _has_sum(file: Path, stated: str) -> bool:
    """Whether the sha256 of a file, or the sha1 that git gives it, is the one `stated` in hexadecimal digits."""
    if len(stated) == 64:
        return sha256_of(file) == stated
    content = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == stated


def _download(checkpoint: Checkpoint, progress: Progress) -> Path:
    """Download the pinned commit, and return its folder.

    Where that has no safetensors, it is the Hub's own conversion of its pickled weights, an open pull request of the
    Hub's bot (https://huggingface.co/docs/safetensors/convert-weights); transformers looks for the same one.
    """
    hub, kept = HfApi(), _kept_pin(checkpoint)
    asked = kept or checkpoint.revision
    # One short request first: `snapshot_download` tries six times over half a minute before it gives up.
    info = hub.model_info(checkpoint.hub_id, revision=asked, timeout=_ANSWER_WITHIN_S)
    if _COMMIT.fullmatch(asked) and info.sha != asked:
        raise _unavailable(checkpoint, _OTHER_VERSION)
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
            allow_patterns=_BESIDE_WEIGHTS,
            ignore_patterns=["*/*"],
            etag_timeout=_ANSWER_WITHIN_S,
            tqdm_class=_reporting(checkpoint, progress),
        )
    )
    if WEIGHTS in {sibling.rfilename for sibling in info.siblings or ()}:
        # The weights come last, so that where they are, all files are.
        _download_weights(checkpoint, commit, progress)
    if commit != checkpoint.revision and (folder / WEIGHTS).exists():
        (_cached(checkpoint) / _PIN).write_text(f"{checkpoint.revision} {commit}\n", encoding="utf-8")
    return folder


def _download_weights(checkpoint: Checkpoint, commit: str, progress: Progress) -> None:
    """Download the weights into the Hub's cache, and link them into the folder of `commit`.

    A part that an earlier attempt left is resumed; the Hub's library keeps one only while it tries again by itself, for
    some seconds. Raises `CheckpointUnavailable` for weights that do not match the Hub's checksum.
    """
    url = hf_hub_url(checkpoint.hub_id, WEIGHTS, revision=commit)
    stated = get_hf_file_metadata(url, timeout=_ANSWER_WITHIN_S)
    blob = _cached(checkpoint) / "blobs" / str(stated.etag)
    part = blob.with_suffix(".incomplete")
    lock = Path(HF_HUB_CACHE) / ".locks" / _cached(checkpoint).name / f"{stated.etag}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        if not blob.exists():
            with part.open("ab") as file:
                if stated.size and file.tell() > stated.size:
                    file.truncate(0)
                http_get(
                    stated.location,
                    file,
                    resume_size=file.tell(),
                    headers={"Accept-Encoding": "identity"},
                    expected_size=stated.size,
                    tqdm_class=_reporting(checkpoint, progress),
                )
            if not _has_sum(part, blob.name):
                part.unlink()
                raise _unavailable(checkpoint, _DAMAGED)
            part.rename(blob)
    # Nothing is left to download, so the library only links.
    linked = Path(hf_hub_download(checkpoint.hub_id, WEIGHTS, revision=commit, etag_timeout=_ANSWER_WITHIN_S))
    if not linked.is_symlink():
        # On a disk without links, the library made a copy.
        blob.unlink()


def _reporting(checkpoint: Checkpoint, progress: Progress) -> type[Any]:
    """A progress bar class that reports the checkpoint's downloaded bytes to `progress`, and draws nothing."""

    class Reporting(tqdm):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options | {"disable": True})
            self._counts_bytes = options.get("unit") == "B"

        def update(self, n: float | None = 1) -> None:
            # A disabled bar does not count by itself.
            self.n += n or 0
            if self._counts_bytes:
                done, size = self.n / 1e6, checkpoint.size_mb
                progress(min(1.0, done / size), Sentence(_DOWNLOADING, model=checkpoint.title, done=done, size=size))

    return Reporting
