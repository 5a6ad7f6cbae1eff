"""The session log as the service uses it: write a run, read runs, forget runs."""

from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import CursorResult, Engine, delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import sessionmaker

from demo.sessions.records import Run
from demo.sessions.tables import RunRow, SessionRow, SharedRunRow
from models.tasks import Task

WRITES = {"writes": True}
"""The execution options of a transaction that will write."""


class RunRepository:
    """Runs in a database whose tables are there; safe to call from many threads.

    `lasting` is false where the database forgets at restart.
    """

    def __init__(self, engine: Engine, lasting: bool = True) -> None:
        self.lasting = lasting
        self._reading = sessionmaker(engine).begin
        self._writing = sessionmaker(engine.execution_options(**WRITES)).begin

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
            return cast(CursorResult[Any], gone).rowcount == 1

    def delete_all(self, session_id: str) -> int:
        """Forget a session with all its runs; says how many runs it had."""
        with self._writing() as session:
            gone = session.execute(delete(RunRow).where(RunRow.session_id == session_id))
            session.execute(delete(SessionRow).where(SessionRow.id == session_id))
            return cast(CursorResult[Any], gone).rowcount

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

    def _insert(self, run: Run) -> None:
        with self._writing() as session:
            if session.get(SessionRow, run.session_id) is None:
                session.add(SessionRow(id=run.session_id, created_utc=datetime.now(UTC)))
                session.flush()
            session.add(
                RunRow(
                    id=run.id,
                    session_id=run.session_id,
                    task=run.task.value,
                    checkpoint=run.checkpoint,
                    revision=run.revision,
                    license=run.license,
                    inputs=run.inputs,
                    parameters=run.parameters,
                    seed=run.seed,
                    answer=run.answer,
                    duration_ms=run.duration_ms,
                    error=run.error,
                    created_utc=run.created_utc,
                )
            )


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
