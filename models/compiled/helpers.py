"""Threads that help with a pass, while others lead it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Helpers:
    """As many threads as somebody has asked for at once; they sleep when there is nothing to do."""

    def __init__(self) -> None:
        self._threads: list[ThreadPoolExecutor] = []
        self._asked: list[Future[None]] = []

    def ask(self, threads: int, work: Callable[..., None], *arguments: Any) -> None:
        """Let so many of them do `work`; whoever has not come to what was asked before is not asked again."""
        while len(self._threads) < threads:
            self._threads.append(ThreadPoolExecutor(1, "pass"))
            self._asked.append(Future())
            self._asked[-1].set_result(None)
        for number in range(threads):
            if self._asked[number].done():
                self._asked[number] = self._threads[number].submit(work, *arguments)
