"""What the host may know about this process: is it well, how large is it, and which weights does it answer with."""

import asyncio
import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anyio.to_thread import run_sync
from sqlalchemy.engine import make_url

from demo.service import DemoService
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint, Task, find

_WEIGHTS = ("adapter_model.safetensors", "model.safetensors")
_log = logging.getLogger(__name__)
_READY_FOR_S, _NOT_READY_FOR_S = 30.0, 2.0


@dataclass(frozen=True)
class Readiness:
    """Whether the database keeps runs and a model answers; why not goes to the host's log."""

    database: bool
    model: bool

    @property
    def ready(self) -> bool:
        """Whether both do."""
        return self.database and self.model


class Ready:
    """Asks the database and a bundled model, seldom and never twice at a time, so that asking often costs nothing.

    Good news is given out for half a minute, bad news for two seconds.
    """

    def __init__(self, service: DemoService, store: ModelStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._store = store
        self._clock = clock
        self._turn = asyncio.Lock()
        self._last: tuple[float, Readiness] | None = None

    async def __call__(self) -> Readiness:
        """How it stands now, or stood a moment ago."""
        # Who waits here for another's answer holds no thread.
        async with self._turn:
            if self._last:
                at_s, found = self._last
                if self._clock() - at_s < (_READY_FOR_S if found.ready else _NOT_READY_FOR_S):
                    return found
            found = await run_sync(self._look)
            self._last = (self._clock(), found)
            return found

    def _look(self) -> Readiness:
        return Readiness(_works(self._database_answers), _works(self._model_answers))

    def _database_answers(self) -> bool:
        self._service.history("nobody", most=1)
        return self._service.history_is_kept

    def _model_answers(self) -> bool:
        return bool(self._store.load(find("", Task.SENTIMENT))(text="Fine.").scores)


def _works(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except Exception:
        _log.exception("not ready")
        return False


def memory_bytes() -> int:
    """How much memory this process holds now; where the system does not say, the most it ever held, or 0."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0


def database_bytes(database_url: str) -> int | None:
    """How large an SQLite database is with what is not yet merged into it; None for another kind of database."""
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    files = [Path(url.database), Path(f"{url.database}-wal")]
    return sum(each.stat().st_size for each in files if each.exists())


@cache
def bundled_checksums() -> dict[str, str]:
    """The sha256 of the weights of each bundled checkpoint."""
    return {name: _checksum(each) for name, each in REGISTRY.items() if not each.hub_id}


def _checksum(checkpoint: Checkpoint) -> str:
    for name in _WEIGHTS:
        path = checkpoint.folder / name
        if path.exists():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return "missing"
