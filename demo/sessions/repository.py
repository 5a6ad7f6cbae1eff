"""The session log as the service uses it: write a run, read runs, forget runs."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Connection, CursorResult, Engine, bindparam, delete, exists, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from demo.sessions.engines import WRITES, forgets_at_restart, wipe_deleted
from demo.sessions.records import Run
from demo.sessions.tables import CountedRunRow, RunRow, SessionRow, SharedRunRow
from models.tasks import Task

_SESSION_IS_THERE = select(SessionRow.id).where(SessionRow.id == bindparam("id"))
_NEW_SESSION, _NEW_RUN = insert(SessionRow).inline(), insert(RunRow).inline()


class RunRepository:
    """Runs in a database whose tables are there; safe to call from many threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def lasting(self) -> bool:
        """Whether runs survive a restart."""
        return not forgets_at_restart(self._engine.url)

    def is_kept(self, run_id: str) -> bool:
        """Whether this run survives a restart, if it is there."""
        return self.lasting

    def record(self, run: Run) -> None:
        """Write a run, and its session if this is its first; both are committed when this returns."""
        try:
            self._insert(run)
        except IntegrityError:
            # Another run of the same session was its first in this very moment; now the session is there.
            self._insert(run)

    def get(self, run_id: str) -> Run | None:
        """The run with this id."""
        with self._reading() as session:
            row = session.scalar(select(RunRow).where(RunRow.id == run_id))
            return _run(row) if row else None

    def for_session(self, session_id: str) -> tuple[Run, ...]:
        """The runs of a session, newest first."""
        with self._reading() as session:
            rows = session.scalars(select(RunRow).where(RunRow.session_id == session_id).order_by(RunRow.number.desc()))
            return tuple(_run(row) for row in rows)

    def delete(self, run_id: str, session_id: str) -> bool:
        """Forget a run if it belongs to this session; says whether it did."""
        with self._writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.id == run_id, RunRow.session_id == session_id))
        self._wipe()
        return cast(CursorResult[Any], gone).rowcount == 1

    def delete_all(self, session_id: str) -> int:
        """Forget a session with all its runs; says how many runs it had."""
        with self._writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.session_id == session_id))
            session.execute(delete(SessionRow).where(SessionRow.id == session_id))
        self._wipe()
        return cast(CursorResult[Any], gone).rowcount

    def count(self, run: Run) -> None:
        """Write that there was a run, and nothing of what it said or of who ran it."""
        day = run.created_utc.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        with self._writing() as session:
            session.add(
                CountedRunRow(
                    task=run.task.value, duration_ms=run.duration_ms, failed=run.error is not None, day_utc=day
                )
            )

    def delete_before(self, before: datetime, most: int) -> int:
        """Forget at most `most` of the runs that began earlier, the oldest first; says how many there were.

        Sessions that have no run since then go as well, and so do the counts.
        """
        old = select(RunRow.number).where(RunRow.created_utc < before).order_by(RunRow.number).limit(most)
        with self._writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.number.in_(old)))
            empty = ~exists().where(RunRow.session_id == SessionRow.id)
            session.execute(delete(SessionRow).where(SessionRow.created_utc < before, empty))
            session.execute(delete(CountedRunRow).where(CountedRunRow.day_utc < before))
        self._wipe()
        return cast(CursorResult[Any], gone).rowcount

    def every_run(self) -> Iterator[Run]:
        """All runs of all sessions, oldest first, a few at a time in memory."""
        with self._reading() as session:
            for row in session.scalars(select(RunRow).order_by(RunRow.number).execution_options(yield_per=100)):
                yield _run(row)

    def share(self, run_id: str, session_id: str, key: str) -> str | None:
        """The key under which others can see a run of this session: `key`, or the one it has; `None` without such."""
        with self._writing() as session:
            if session.scalar(select(RunRow.id).where(RunRow.id == run_id, RunRow.session_id == session_id)) is None:
                return None
            there = session.scalar(select(SharedRunRow.key).where(SharedRunRow.run_id == run_id))
            if there is None:
                session.add(SharedRunRow(key=key, run_id=run_id, created_utc=datetime.now(UTC)))
            return there or key

    def unshare(self, run_id: str, session_id: str) -> bool:
        """Let nobody else see a run of this session any more; says whether somebody could."""
        own = select(RunRow.id).where(RunRow.id == run_id, RunRow.session_id == session_id)
        with self._writing() as session:
            gone = session.execute(delete(SharedRunRow).where(SharedRunRow.run_id.in_(own)))
            return cast(CursorResult[Any], gone).rowcount == 1

    def shared(self, key: str) -> Run | None:
        """The run that is shared under this key."""
        with self._reading() as session:
            row = session.scalar(select(RunRow).join(SharedRunRow).where(SharedRunRow.key == key))
            return _run(row) if row else None

    def _reading(self) -> AbstractContextManager[Session]:
        """A transaction that reads."""
        return sessionmaker(self._engine).begin()

    def _writing(self) -> AbstractContextManager[Session]:
        """A transaction that writes, committed when it is left without an error."""
        return sessionmaker(self._engine.execution_options(**WRITES)).begin()

    def _wipe(self) -> None:
        """Leave nothing of what was deleted in the files."""
        wipe_deleted(self._engine)

    def _recording(self) -> AbstractContextManager[Connection]:
        """The same without what an ORM does for rows that are read or changed: each run passes here."""
        return self._engine.execution_options(**WRITES).begin()

    def _insert(self, run: Run) -> None:
        row = {
            "id": run.id,
            "session_id": run.session_id,
            "task": run.task.value,
            "checkpoint": run.checkpoint,
            "revision": run.revision,
            "license": run.license,
            "inputs": run.inputs,
            "parameters": run.parameters,
            "seed": run.seed,
            "answer": run.answer,
            "duration_ms": run.duration_ms,
            "error": run.error,
            "created_utc": run.created_utc,
        }
        with self._recording() as connection:
            if connection.execute(_SESSION_IS_THERE, {"id": run.session_id}).first() is None:
                connection.execute(_NEW_SESSION, {"id": run.session_id, "created_utc": datetime.now(UTC)})
            connection.execute(_NEW_RUN, row)


def _run(row: RunRow) -> Run:
    return Run(
        id=row.id,
        session_id=row.session_id,
        task=Task(row.task),
        checkpoint=row.checkpoint,
        revision=row.revision,
        license=row.license,
        inputs=row.inputs,
        parameters=row.parameters,
        seed=row.seed,
        answer=row.answer,
        duration_ms=row.duration_ms,
        error=row.error,
        created_utc=row.created_utc,
    )
