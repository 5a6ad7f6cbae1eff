"""One attempt at a run: what it will be in the log, however it ends."""

import math
import reprlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from demo.attention import AttentionSource, source_of
from demo.caches import Origin
from demo.limits import FIELDS, OUT_OF_RANGE
from demo.log.answers import dump_answer
from demo.log.run import Run
from models.outputs import LoadedCheckpoint, TaskOutput
from models.registry import Checkpoint, Task, checkpoints_for

_KEPT_OF_REFUSED_TEXT = 500
_KEPT_OF_REFUSED_VALUE = 100


@dataclass(frozen=True, eq=False)
class Finished:
    """A run with its typed answer, and where its attention can be had; while streaming, the run as it stands."""

    run: Run
    output: TaskOutput
    source: AttentionSource

    @property
    def origin(self) -> Origin:
        """Whose text it is."""
        return self.source.origin

    @property
    def forgotten(self) -> "Finished":
        """What is left once its text is deleted: the id, by which its sharing can still be ended."""
        return replace(self, run=replace(self.run, inputs={}, parameters={}, answer=None), source=self.source.forgotten)


class Attempt:
    """A run from the moment a visitor asked for it; its clock starts again once the model is loaded."""

    def __init__(self, session_id: str, task: Task, fields: Mapping[str, Any], checkpoint: object) -> None:
        self.run_id = secrets.token_hex(16)
        self.session_id = session_id
        self.task = task
        self.given = fields
        self.checkpoint = checkpoint or checkpoints_for(task)[0].name
        self.license = ""
        self.fields: dict[str, Any] = {name: _shortened(value) for name, value in fields.items()}
        self.created_utc = datetime.now(UTC)
        self._started = time.perf_counter()

    def accepted(self, fields: dict[str, Any], checkpoint: Checkpoint) -> None:
        """The fields are clean and the checkpoint is known: from here on they are logged whole."""
        self.fields = fields
        self.checkpoint, self.license = checkpoint.name, checkpoint.license

    def starts(self, inputs: Any) -> None:
        """The model is there and `inputs`, a task's input dataclass, are what it will read: now the time counts."""
        self.fields = {name: value for name, value in asdict(inputs).items() if value != ()}
        self._started = time.perf_counter()

    def writing(self, output: TaskOutput) -> Finished:
        """The run as it stands while more is being written; its answer is put into JSON only when it ends."""
        return _with_source(self._run(output.checkpoint), output)

    def finished(self, output: TaskOutput) -> Finished:
        """The run that ended at `output`."""
        # The clock stops here, before the answer is put into JSON.
        run = self._run(output.checkpoint)
        return _with_source(replace(run, answer=dump_answer(output)), output)

    def again(self, before: Finished) -> Finished:
        """The run that asked what was answered `before`: one of its own, with that answer."""
        run = replace(
            before.run,
            id=self.run_id,
            session_id=self.session_id,
            duration_ms=self._duration_ms(),
            created_utc=self.created_utc,
        )
        return replace(before, run=run)

    def failed(self, sentence: str) -> Run:
        """The run that ended with `sentence` and no answer."""
        name = _shortened(self.checkpoint, _KEPT_OF_REFUSED_VALUE)
        return self._run(LoadedCheckpoint(name, "", self.license), sentence)

    def _run(self, used: LoadedCheckpoint, error: str | None = None) -> Run:
        texts = {name for name, field in FIELDS[self.task].items() if field.is_text}
        given_seed = self.fields.get("seed")
        seed = given_seed if type(given_seed) is int else None
        return Run(
            id=self.run_id,
            session_id=self.session_id,
            task=self.task,
            checkpoint=used.name,
            revision=used.revision,
            license=used.license,
            inputs={name: value for name, value in self.fields.items() if name in texts},
            parameters={
                name: value
                for name, value in self.fields.items()
                if name not in texts and (name != "seed" or seed is None)
            },
            seed=seed,
            answer=None,
            duration_ms=self._duration_ms(),
            error=error,
            created_utc=self.created_utc,
        )

    def _duration_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000


def _with_source(run: Run, output: TaskOutput) -> Finished:
    return Finished(run, output, source_of(run, output))


def _shortened(value: object, most: int = _KEPT_OF_REFUSED_TEXT) -> Any:
    """A field as the log keeps it when it is refused: numbers as they are, the start of a text, others described."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < OUT_OF_RANGE:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    text = value if isinstance(value, str) else reprlib.repr(value)
    text = text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters in all)"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
