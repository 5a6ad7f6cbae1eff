"""Which runs take turns: small ones go on beside one another, large ones need much memory."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from demo.limits import FIELDS
from models.cancellation import go_on
from models.errors import InputError
from models.registry import Task

LARGE_AT_ONCE = 2
SMALL = 4_000
"""Up to so many characters read and tokens written, times drafts kept, a run that writes counts as small.

A GPT-2 small remembers 73 kB for each token of each draft, and a token is some four characters.
"""

LONGEST_WAIT_S = 600.0
"""The largest run takes a minute or two on a slow processor, and a few may wait in front."""

TOO_BUSY = "Long runs have kept this host busy for ten minutes. Please try again later, or try a shorter text."

_ASK_EVERY_S = 0.2


class Turns:
    """Lets `LARGE_AT_ONCE` large runs go on at a time; safe to call from many threads."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(LARGE_AT_ONCE)

    @contextmanager
    def large(self) -> Iterator[None]:
        """The turn of a large run, waited for.

        Raises `Stopped` once its visitor has left, and `InputError` after `LONGEST_WAIT_S`.
        """
        ends = time.monotonic() + LONGEST_WAIT_S
        while not self._free.acquire(timeout=_ASK_EVERY_S):
            go_on()
            if time.monotonic() >= ends:
                raise InputError(TOO_BUSY)
        try:
            yield
        finally:
            self._free.release()

    def of(self, task: Task, fields: Mapping[str, Any]) -> AbstractContextManager[None]:
        """The turn of a run of `task` with clean `fields`; a small one has it at once."""
        return self.large() if _size(task, fields) > SMALL else nullcontext()


def _size(task: Task, fields: Mapping[str, Any]) -> int:
    """Characters and tokens, times drafts; nothing for a task that reads a text once and remembers nothing of it."""
    if task not in (Task.TRANSLATION, Task.COMPLETION):
        return 0
    characters = sum(len(fields.get(name) or "") for name, field in FIELDS[task].items() if field.is_text)
    searches = fields.get("strategy", "beam") == "beam"
    drafts = int(fields.get("num_beams", 1)) if searches else 1
    return (characters + int(fields.get("max_new_tokens", 0))) * drafts
