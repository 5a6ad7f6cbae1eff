"""Where the attention behind an answer can be had again."""

from dataclasses import dataclass, field, replace
from typing import Any

from demo.caches import HELD_FOR_S, Origin
from demo.log.run import Run, keeps, owner
from models.outputs import SwitchedOff, TaskOutput, generated_ids
from models.registry import Task


@dataclass(frozen=True)
class AttentionSource:
    """All that one forward pass needs to see a run's attention again: its inputs, and the ids that it wrote.

    `switched_off` are the heads that the model was to do without, none in any run that is logged. `origin` says whose
    text it is; sources of equal texts are equal whosever they are.
    """

    task: Task
    checkpoint: str
    inputs: tuple[tuple[str, Any], ...]
    written: tuple[int, ...]
    switched_off: SwitchedOff | None = None
    origin: Origin = field(default=Origin(), compare=False)

    @property
    def forgotten(self) -> "AttentionSource":
        """The same without its text, which cannot be looked at any more."""
        return replace(self, inputs=(), written=(), switched_off=None)

    @property
    def is_forgotten(self) -> bool:
        """Whether its text was deleted or has been here for too long."""
        return not self.inputs


def source_of(run: Run, output: TaskOutput) -> AttentionSource:
    """Where the attention behind a run's answer can be had."""
    # Lists, which JSON has for tuples, could not be looked up.
    fields = ((name, tuple(value) if isinstance(value, list) else value) for name, value in run.fields.items())
    return AttentionSource(
        run.task, run.checkpoint, tuple(sorted(fields)), generated_ids(output), origin=_origin_of(run)
    )


def _origin_of(run: Run) -> Origin:
    # Callers without a session do not share one: each of their runs stands alone.
    session = owner(run.session_id) or run.id
    until = float("inf") if keeps(run.session_id) else run.created_utc.timestamp() + HELD_FOR_S
    return Origin((session,) if session else (), run.id, until)
