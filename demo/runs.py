"""Runs tasks: checks the limits, asks the model, writes the log. The one module that knows all three."""

import logging
import math
import reprlib
import secrets
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from demo.caches import Origin, SessionCache
from demo.defaults import Defaults
from demo.fields import FIELDS
from demo.limits import OUT_OF_RANGE, Turns, clean, plain_text
from demo.log.deletions import Deletion
from demo.log.export import as_csv, as_json
from demo.log.run import Run, dump_answer, keeps, load_answer, owner
from demo.log.session_log import SessionLog
from demo.looks import FORGOTTEN, OUR_FAULT, AttentionSource, Changed, Inspection, grow_tree, source_of
from demo.settings import Settings
from demo.walk.view import Inside
from demo.web.traces import span
from models.backend import Backend, asks
from models.errors import InputError, Stopped
from models.loading import Progress, silent
from models.outputs.base import LoadedCheckpoint, TaskOutput
from models.outputs.writing import DecodeTree, generated_ids
from models.registry import Checkpoint, Task, find
from models.wording import Sentence

__all__ = ["OUR_FAULT", "AttentionSource", "Changed", "DemoService", "Finished"]

_log = logging.getLogger(__name__)
_KEPT_OF_REFUSED_TEXT = 500
_KEPT_OF_REFUSED_VALUE = 100
_SESSION_CHARACTERS = 64
RUNS_OF_A_PAGE = 50
"""The number of runs of a session that are listed at a time."""

NO_SUCH_RUN = Sentence("There is no such run; it may have been deleted.")


@dataclass(frozen=True, eq=False)
class Finished:
    """A run with its typed answer and the source of its attention; while streaming, the run as it stands."""

    run: Run
    answer: TaskOutput | None
    source: AttentionSource

    @property
    def output(self) -> TaskOutput:
        """The typed answer; raises `InputError` when it was deleted with the run's text."""
        if self.answer is None:
            raise InputError(FORGOTTEN)
        return self.answer

    @property
    def origin(self) -> Origin:
        """The sessions and the run that the text belongs to."""
        return self.source.origin

    @property
    def forgotten(self) -> "Finished":
        """This run without its text and answer; its id stays, so that sharing can be ended."""
        run = replace(self.run, inputs={}, parameters={}, answer=None)
        return replace(self, run=run, answer=None, source=self.source.forgotten)


class Attempt:
    """A run from the moment a visitor asked for it; its clock starts again once the model is loaded."""

    def __init__(self, session_id: str, task: Task, fields: Mapping[str, Any], checkpoint: object) -> None:
        self.run_id = secrets.token_hex(16)
        self.session_id = session_id
        self.task = task
        self.given = fields
        self.checkpoint = checkpoint
        self.license = ""
        self.fields: dict[str, Any] = {name: _shortened(value) for name, value in fields.items()}
        self.created_utc = datetime.now(UTC)
        self._started = time.perf_counter()

    def accepted(self, fields: dict[str, Any], checkpoint: Checkpoint) -> None:
        """Note the clean fields and the known checkpoint, which from here on are logged whole."""
        self.fields = fields
        self.checkpoint, self.license = checkpoint.name, checkpoint.license

    def starts(self, inputs: Any) -> None:
        """Note the `inputs`, a task's input dataclass, that the loaded model will read, and restart the clock."""
        self.fields = {name: value for name, value in asdict(inputs).items() if value != ()}
        self._started = time.perf_counter()

    def answering(self) -> AbstractContextManager[dict[str, Any]]:
        """The trace span in which an accepted run's model answers; it yields its attributes, which may be added to."""
        return span("answer", task=self.task.endpoint, checkpoint=self.checkpoint, run_id=self.run_id)

    def writing(self, output: TaskOutput) -> Finished:
        """The run as it stands while more is being written; its answer is put into JSON only when it ends."""
        run = self._run(output.checkpoint)
        return Finished(run, output, source_of(run, output))

    def finished(self, output: TaskOutput) -> Finished:
        """The run that ended with `output`."""
        # The clock stops here, before the answer is put into JSON.
        run = self._run(output.checkpoint)
        return Finished(replace(run, answer=dump_answer(output)), output, source_of(run, output))

    def again(self, before: Finished) -> Finished:
        """A new run, for a question that was answered `before`, with that answer."""
        own: dict[str, Any] = {"id": self.run_id, "session_id": self.session_id, "created_utc": self.created_utc}
        return replace(before, run=replace(before.run, **own, duration_ms=self._duration_ms()))

    def failed(self, sentence: str) -> Run:
        """The run that ended with `sentence` and no answer."""
        name = _shortened(self.checkpoint, _KEPT_OF_REFUSED_VALUE)
        return self._run(LoadedCheckpoint(name, "", self.license), sentence)

    def _run(self, used: LoadedCheckpoint, error: str | None = None) -> Run:
        parameters, texts = dict(self.fields), {name for name, field in FIELDS[self.task].items() if field.is_text}
        inputs = {name: parameters.pop(name) for name in self.fields if name in texts}
        seed = parameters.pop("seed") if type(parameters.get("seed")) is int else None
        return Run(
            id=self.run_id,
            session_id=self.session_id,
            task=self.task,
            checkpoint=used.name,
            revision=used.revision,
            license=used.license,
            inputs=inputs,
            parameters=parameters,
            seed=seed,
            answer=None,
            duration_ms=self._duration_ms(),
            error=error,
            created_utc=self.created_utc,
        )

    def _duration_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000


def _shortened(value: object, most: int = _KEPT_OF_REFUSED_TEXT) -> Any:
    """A refused field as the log keeps it: a number as it is, the start of a text, the start of any other's repr."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < OUT_OF_RANGE:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    text = value if isinstance(value, str) else reprlib.repr(value)
    text = text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters in all)"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def fork_fields(run: Run, output: TaskOutput, step: int, token_id: int) -> dict[str, Any]:
    """The fields of a new run, which puts `token_id` in the place of written token `step`, counted from 1.

    The settings stay, the seed too; raises `InputError` where nothing was written at that step.
    """
    written = generated_ids(output)
    if not written:
        raise InputError(Sentence("This run wrote no text, so there is nothing to go on from."), "run_id")
    if not 1 <= step <= len(written):
        raise InputError(Sentence("The step must be from 1 to {last}.", last=len(written)), "step")
    # A completion that was logged before there was a loop guard was written without one.
    unsaid = {"loop_guard": 0} if run.task is Task.COMPLETION else {}
    return {**unsaid, **run.fields, "kept": (*written[: step - 1], token_id)}


class DemoService(Inspection):
    """Runs tasks for visitors, logs the runs and looks into them; safe to call from many threads."""

    def __init__(self, settings: Settings, backend: Backend, log: SessionLog) -> None:
        super().__init__(settings, backend, Turns(), SessionCache(settings.attention_mb * 10**6))
        self.settings = settings
        self.log = log
        self.defaults = Defaults(settings)
        self._watchers: list[Callable[[Run], None]] = []
        self._forgetters: list[Callable[[Callable[[Origin], bool]], None]] = []
        self.inside = Inside(settings, backend)

    def model_answers(self) -> bool:
        """Whether the bundled sentiment model answers; raises the error that keeps it from that."""
        fields = {"text": "Fine."}
        checkpoint = find("", Task.SENTIMENT)
        inputs = self._backend.ask(asks.read_fields, checkpoint, None, fields)
        return bool(self._backend.ask(asks.answer, checkpoint, None, inputs).tokens)

    def watch(self, watcher: Callable[[Run], None]) -> None:
        """Call `watcher` with every run that ends, failed or not."""
        self._watchers.append(watcher)

    def when_forgetting(self, forgetter: Callable[[Callable[[Origin], bool]], None]) -> None:
        """Call `forgetter` whenever texts are to be forgotten, with a function that is true of their origins."""
        self._forgetters.append(forgetter)

    @property
    def history_is_kept(self) -> bool:
        """Whether runs survive a restart; false while the database cannot be opened or written."""
        return self.log.lasting

    def is_kept(self, run: Run) -> bool:
        """Whether a run outlives a restart: not while the database fails, nor where its visitor wanted nothing kept."""
        return self.log.is_kept(run.id)

    def new_session(self) -> str:
        """The id of a new session, which is unguessable, because it gives access to the session's runs."""
        return secrets.token_urlsafe(24)

    def run(
        self,
        session_id: str,
        task: Task,
        fields: dict[str, Any],
        checkpoint: str = "",
        progress: Progress = silent,
    ) -> Finished:
        """Run a task and log the run; a failed run is logged as failed and raised as an `InputError`."""
        attempt = self._attempt(self._session(session_id), task, fields, checkpoint)
        try:
            question, accepted = self._accept(attempt)
            if before := self._answered(attempt, question):
                return self._keep(attempt.again(before))
            inputs = self._prepare(attempt, accepted, progress)
            with self._turns.of(task, attempt.fields), attempt.answering() as traced:
                output = self._backend.ask(asks.answer, accepted, task, inputs)
                traced.update(engine=output.checkpoint.engine, precision=output.checkpoint.precision)
            return self._remember(question, self._keep(attempt.finished(output)))
        except Exception as error:
            raise self._failure(attempt, error) from error

    def stream(
        self,
        session_id: str,
        fields: dict[str, Any],
        checkpoint: str = "",
        progress: Progress = silent,
        task: Task = Task.COMPLETION,
    ) -> Iterator[Finished]:
        """Yield an answer as it grows; logged once, before its last yield or when the iterator is closed early."""
        attempt = self._attempt(self._session(session_id), task, fields, checkpoint)
        written = None
        try:
            question, accepted = self._accept(attempt)
            if before := self._answered(attempt, question):
                yield self._keep(attempt.again(before))
                return
            inputs = self._prepare(attempt, accepted, progress)
            with (
                self._turns.of(task, attempt.fields),
                attempt.answering() as traced,
                closing(self._backend.write(accepted, task, inputs)) as growing,
            ):
                for written in growing:
                    traced.update(engine=written.checkpoint.engine, precision=written.checkpoint.precision)
                    if written.finished:
                        yield self._remember(question, self._keep(attempt.finished(written)))
                        continue
                    try:
                        yield attempt.writing(written)
                    except GeneratorExit:
                        self._keep(attempt.finished(written))
                        raise
        except Exception as error:
            if isinstance(error, Stopped) and written is not None:
                yield self._keep(attempt.finished(written))
                return
            raise self._failure(attempt, error) from error

    def answer(self, task: Task, fields: dict[str, Any], checkpoint: str = "") -> Finished:
        """Answer what the page itself asks for, such as a step of a lecture; no visitor's run, so nothing is logged."""
        attempt = self._attempt("", task, fields, checkpoint)
        _, accepted = self._accept(attempt)
        inputs = self._prepare(attempt, accepted, silent)
        with self._turns.of(task, attempt.fields):
            return attempt.finished(self._backend.ask(asks.answer, accepted, task, inputs))

    def decode_tree(self, fields: dict[str, Any], checkpoint: str = "", progress: Progress = silent) -> DecodeTree:
        """Greedy search, beam search and sampling for the fields of a completion, as one tree; it is not logged."""
        with self._turns.large():
            named = checkpoint or self.defaults.of(Task.COMPLETION).name
            return grow_tree(self.settings, self._backend, fields, named, progress)

    def source_of(self, run: Run) -> AttentionSource:
        """The source of a logged run's attention; raises `InputError` for a run that failed or has none."""
        if not run.task.kinds:
            raise InputError(Sentence("This run has no attention to look at beyond its answer."), "run_id")
        return self.reopen(run).source

    def output_of(self, run: Run) -> TaskOutput:
        """The typed answer of a logged run, without its model; raises `InputError` for a run that failed."""
        return self.reopen(run).output

    def reopen(self, run: Run) -> Finished:
        """A logged run as it was when it finished; raises `InputError` for one that failed."""
        if run.answer is None:
            raise InputError(Sentence("This run has no answer to look at."), "run_id")
        output = load_answer(run.task, run.answer)
        return Finished(run, output, source_of(run, output))

    def history(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all of them, or at most `most` after the first `skip`."""
        return self.log.for_session(session_id, most, skip)

    def get(self, run_id: str) -> Run:
        """A run by its unguessable id; raises `InputError` when it is not there."""
        run = self.log.get(run_id)
        if run is None:
            raise InputError(NO_SUCH_RUN, "run_id")
        return run

    def delete(self, run_id: str, session_id: str) -> bool:
        """Delete one run of a session from the log and from memory; returns whether it was there."""
        there = self.log.delete(run_id, session_id)
        self._forget(Deletion.of(session_id, run_id))
        return there

    def delete_all(self, session_id: str) -> int:
        """Delete every run of a session from the log and from memory; returns their number."""
        count = self.log.delete_all(session_id)
        self._forget(Deletion.of(session_id))
        return count

    def forget(self, session_id: str) -> None:
        """Drop a session's texts and answers from memory, open pages included; the log stays as it is."""
        self._forget(Deletion.of(session_id))

    def hear(self, deletion: Deletion) -> None:
        """Drop from memory what another process has deleted."""
        self._forget(deletion)
        self.log.hear(deletion)

    def _forget(self, deletion: Deletion) -> None:
        # Runs of equal texts in a session share their cached results, so all those of the session are dropped.
        self._cache.forget(deletion.is_of)
        for forgetter in self._forgetters:
            forgetter(lambda of: any(deletion.covers(each, of.run_id, of.made) for each in of.sessions))

    def forget_old(self) -> None:
        """Drop from memory the texts and answers whose time, an hour, is over."""
        self._cache.forget_old()
        for forgetter in self._forgetters:
            forgetter(lambda origin: origin.until <= time.time())

    def export_csv(self, session_id: str) -> str:
        """The runs of a session as CSV, newest first."""
        return as_csv(self.history(session_id))

    def export_json(self, session_id: str) -> str:
        """The runs of a session as JSON, newest first."""
        return as_json(self.history(session_id))

    def _session(self, session_id: str) -> str:
        """The session id that a browser sent, a new one for none; raises `InputError` for one that is no id."""
        if not isinstance(session_id, str) or len(session_id) > _SESSION_CHARACTERS:
            raise InputError(Sentence("This page has lost its session. Please reload it."))
        return session_id or self.new_session()

    def _attempt(self, session_id: str, task: Task, fields: Mapping[str, Any], checkpoint: str) -> Attempt:
        """A new attempt, with the default checkpoint where none is named."""
        return Attempt(session_id, task, fields, checkpoint or self.defaults.of(task).name)

    def _accept(self, attempt: Attempt) -> tuple[Hashable, Checkpoint]:
        """The cache key of the question and the checkpoint; raises `InputError` for fields that cannot be used."""
        fields = clean(attempt.task, attempt.given, self.settings.limits)
        checkpoint = find(plain_text(attempt.checkpoint, Sentence("The checkpoint"), "checkpoint"), attempt.task)
        attempt.accepted(fields, checkpoint)
        return ("run", attempt.task, checkpoint.name, tuple(sorted(fields.items()))), checkpoint

    def _answered(self, attempt: Attempt, question: Hashable) -> Finished | None:
        """The answer to this session's equal question of less than an hour ago, `None` where there is none."""
        return self._cache.get(Origin((owner(attempt.session_id),)), question)

    def _prepare(self, attempt: Attempt, checkpoint: Checkpoint, progress: Progress) -> Any:
        """Load the model and return the inputs that it will read; raises `InputError` for fields it cannot read."""
        with span("load", checkpoint=checkpoint.name):
            self._backend.load(checkpoint, progress, attempt.task)
        inputs = self._backend.ask(asks.read_fields, checkpoint, attempt.task, attempt.fields)
        attempt.starts(inputs)
        return inputs

    def _keep(self, finished: Finished) -> Finished:
        """Log a finished run, before anyone sees it, and return it."""
        self._record(finished.run)
        return finished

    def _remember(self, question: Hashable, finished: Finished) -> Finished:
        """Cache the answer for an equal question, unless the session wants nothing kept; returns the run.

        A tiny model's answer is not cached: visitors want to watch it learn, and see that again.
        """
        if keeps(finished.run.session_id) and finished.run.task is not Task.TINY_MODEL:
            self._cache.put(finished.source.origin, question, finished)
        return finished

    def _failure(self, attempt: Attempt, error: Exception) -> InputError:
        """Log the failed run and return the error for the visitor; the details of others go to the host's log."""
        if not isinstance(error, InputError):
            told = {"run_id": attempt.run_id, "task": attempt.task.value}
            _log.error("run %s (%s) failed", attempt.run_id, attempt.task, exc_info=error, extra=told)
            error = InputError(OUR_FAULT)
        self._record(attempt.failed(str(error.sentence)))
        return error

    def _record(self, run: Run) -> None:
        """Write a run to the log; where that fails, the visitor still gets the answer, and the host's log says why."""
        for watcher in self._watchers:
            watcher(run)
        try:
            with span("log", run_id=run.id):
                self.log.record(run)
        except SQLAlchemyError:
            # The database works, but refuses this run.
            _log.exception("run %s could not be written to the session log", run.id, extra={"run_id": run.id})
