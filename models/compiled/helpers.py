"""Threads that help with passes, while others lead them; see `models/kernels/helping.py`."""

import ctypes
import threading

import numpy as np
import torch

from models.compiled.code import function_of
from models.kernels.layout import MAILBOX, Record
from models.kernels.processor import HELPING
from models.once import once


class Helpers:
    """As many threads as somebody has asked for at once; they sleep when there is nothing to do, and end with Python.

    Whoever makes a pass has all of them for it, or none: a pass that comes meanwhile is made by its own thread.
    """

    def __init__(self) -> None:
        self._lead = function_of(HELPING, "lead", 5)
        self._serve = function_of(HELPING, "serve", 2)
        self._mailboxes = np.zeros((64, MAILBOX), np.int64)
        self._count = 0
        self._taken = threading.Lock()

    def make(self, share: int, weights: Record, of: Record, threads: int) -> None:
        """Make a pass by the function at an address, for a record of weights and one of the pass.

        No more `threads` take part than these, for which the pass must have room.
        """
        has_all = threads > 1 and self._taken.acquire(blocking=False)
        try:
            helpers = min(threads - 1, len(self._mailboxes)) if has_all else 0
            while self._count < helpers:
                self._begin()
            self._lead(share, _at(weights), _at(of), _at(self._mailboxes), helpers)
        finally:
            if has_all:
                self._taken.release()

    def _begin(self) -> None:
        """Have one more helper."""
        mailbox = _at(self._mailboxes[self._count])
        self._count += 1
        ctypes.CDLL(None).sem_init(ctypes.c_void_p(mailbox), 0, 0)
        arguments = (mailbox, self._count)
        threading.Thread(target=self._serve, args=arguments, name=f"pass-{self._count}", daemon=True).start()


@once
def helpers() -> Helpers:
    """Those of this process."""
    return Helpers()


def _at(numbers: Record) -> int:
    return int(numbers.__array_interface__["data"][0])


def threads() -> int:
    """How many the calling thread's passes may have, itself included."""
    return max(1, torch.get_num_threads())
