"""The runs in the database: write one, read some, share them, delete them."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import CursorResult, delete, exists, insert, select
from sqlalchemy.exc import IntegrityError

from demo.log.database import Database
from demo.log.run import Run
from demo.log.tables import CountedRunRow, RunRow, SessionRow, SharedRunRow, storable
from models.registry import Task

_DELETED_AT_ONCE = 500
"""So many runs go in one transaction, so that no visitor waits for the deletion of all that is old."""


class RunRepository:
    """Runs in an open database; safe to call from many threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        # SQLite lets one transaction write at a time, and one that finds it taken sleeps for longer than a write takes.
        self._turn = threading.Lock()

    def record(self, run: Run) -> None:
        """Write a run, and its session if this is its first; both are committed when this returns."""
        with self._turn:
            try:
                self._insert(run)
            except IntegrityError:
                # Another process may have written the session in this very moment; now it is there.
                self._insert(run)

    def _insert(self, run: Run) -> None:
        session_id = storable(run.session_id)
        with self.database.writing() as session:
            if session.scalar(select(SessionRow.id).where(SessionRow.id == session_id)) is None:
                session.execute(insert(SessionRow).values(id=session_id, created_utc=datetime.now(UTC)))
            session.execute(insert(RunRow).values(**{**vars(run), "task": run.task.value}))

    def count(self, run: Run) -> None:
        """Write that there was a run, and nothing of what it said or of who ran it."""
        day = run.created_utc.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        row = CountedRunRow(task=run.task.value, duration_ms=run.duration_ms, failed=run.error is not None, day_utc=day)
        with self._turn, self.database.writing() as session:
            session.add(row)

    def get(self, run_id: str) -> Run | None:
        """The run with this id."""
        with self.database.reading() as session:
            row = session.scalar(select(RunRow).where(RunRow.id == run_id))
            return _run(row) if row else None

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all of them, or at most `most` after the first `skip`."""
        of_session = select(RunRow).where(RunRow.session_id == session_id).order_by(RunRow.number.desc())
        with self.database.reading() as session:
            return tuple(_run(row) for row in session.scalars(of_session.limit(most).offset(skip)))

    def every_run(self) -> Iterator[Run]:
        """All runs of all sessions, oldest first, a few at a time in memory."""
        with self.database.reading() as session:
            for row in session.scalars(select(RunRow).order_by(RunRow.number).execution_options(yield_per=100)):
                yield _run(row)

    def delete(self, run_id: str, session_id: str) -> bool:
        """Delete a run if it belongs to this session; says whether it did."""
        with self.database.writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.id == run_id, RunRow.session_id == session_id))
            return cast(CursorResult[Any], gone).rowcount == 1

    def delete_all(self, session_id: str) -> int:
        """Delete a session with all its runs; says how many runs it had."""
        with self.database.writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.session_id == session_id))
            session.execute(delete(SessionRow).where(SessionRow.id == session_id))
            return cast(CursorResult[Any], gone).rowcount

    def purge(self, days: int, now: datetime | None = None) -> int:
        """Delete runs older than `days`, with empty sessions and counts as old; says how many runs there were."""
        before = (now or datetime.now(UTC)) - timedelta(days=days)
        old = select(RunRow.number).where(RunRow.created_utc < before).order_by(RunRow.number).limit(_DELETED_AT_ONCE)
        empty = ~exists().where(RunRow.session_id == SessionRow.id)
        total, count = 0, 1
        while count:
            with self.database.writing() as session:
                count = cast(CursorResult[Any], session.execute(delete(RunRow).where(RunRow.number.in_(old)))).rowcount
                session.execute(delete(SessionRow).where(SessionRow.created_utc < before, empty))
                session.execute(delete(CountedRunRow).where(CountedRunRow.day_utc < before))
            total += count
        return total

    def share(self, run_id: str, session_id: str, key: str) -> str | None:
        """The key under which others can see a run of this session: `key`, or the one it has; `None` without such."""
        with self.database.writing() as session:
            if session.scalar(select(RunRow.id).where(RunRow.id == run_id, RunRow.session_id == session_id)) is None:
                return None
            there = session.scalar(select(SharedRunRow.key).where(SharedRunRow.run_id == run_id))
            if there is None:
                session.add(SharedRunRow(key=key, run_id=run_id, created_utc=datetime.now(UTC)))
            return there or key

    def unshare(self, run_id: str, session_id: str) -> bool:
        """Let nobody else see a run of this session any more; says whether somebody could."""
        own = select(RunRow.id).where(RunRow.id == run_id, RunRow.session_id == session_id)
        with self.database.writing() as session:
            gone = session.execute(delete(SharedRunRow).where(SharedRunRow.run_id.in_(own)))
            return cast(CursorResult[Any], gone).rowcount == 1

    def shared_of(self, session_id: str) -> frozenset[str]:
        """The ids of the runs of this session that others can see."""
        own = select(SharedRunRow.run_id).join(RunRow).where(RunRow.session_id == session_id)
        with self.database.reading() as session:
            return frozenset(session.scalars(own))

    def shared(self, key: str) -> Run | None:
        """The run that is shared under this key."""
        with self.database.reading() as session:
            row = session.scalar(select(RunRow).join(SharedRunRow).where(SharedRunRow.key == key))
            return _run(row) if row else None


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
