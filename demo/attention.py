"""Attention on demand: where it can be had again, and the most recent of it in memory."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from demo.sessions.records import Run
from models.findings import SwitchedOff
from models.outputs import Attentions, TaskOutput, generated_ids
from models.tasks import Task


@dataclass(frozen=True)
class AttentionSource:
    """All that one forward pass needs to see a run's attention again: its inputs, and the ids that it wrote.

    `switched_off` are the heads that the model was to do without, none in any run that is logged.
    """

    task: Task
    checkpoint: str
    inputs: tuple[tuple[str, Any], ...]
    written: tuple[int, ...]
    switched_off: SwitchedOff | None = None


def source_of(run: Run, output: TaskOutput) -> AttentionSource:
    """Where the attention behind a run's answer can be had."""
    # Lists, which JSON has for tuples, could not be looked up.
    fields = ((name, tuple(value) if isinstance(value, list) else value) for name, value in run.fields.items())
    return AttentionSource(run.task, run.checkpoint, tuple(sorted(fields)), generated_ids(output))


class AttentionCache:
    """Captured attention by its source, the least recently used dropped when the weights exceed `max_bytes`.

    Attention that exceeds it alone is not held at all.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._held: OrderedDict[AttentionSource, Attentions] = OrderedDict()
        self._held_bytes = 0
        self._lock = threading.Lock()

    def get(self, source: AttentionSource) -> Attentions | None:
        """What is held for `source`."""
        with self._lock:
            if source not in self._held:
                return None
            self._held.move_to_end(source)
            return self._held[source]

    def put(self, source: AttentionSource, attentions: Attentions) -> None:
        """Hold `attentions`, and drop the oldest others until all fit."""
        with self._lock:
            if source in self._held or _weight_bytes(attentions) > self.max_bytes:
                return
            self._held[source] = attentions
            self._held_bytes += _weight_bytes(attentions)
            while self._held_bytes > self.max_bytes:
                _, dropped = self._held.popitem(last=False)
                self._held_bytes -= _weight_bytes(dropped)


def _weight_bytes(attentions: Attentions) -> int:
    return sum(attention.weights.nbytes for attention in attentions.values())
