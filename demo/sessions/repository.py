"""The session log as the service uses it: write a run, read runs, forget runs."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Connection, CursorResult, Engine, bindparam, delete, exists, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from demo.sessions.batching import Shared
from demo.sessions.engines import WRITES, forgets_at_restart, wipe_deleted
from demo.sessions.records import Run
from demo.sessions.tables import CountedRunRow, RunRow, SessionRow, SharedRunRow, storable
from models.cancellation import for_others
from models.registry import Task

_MOST_AT_ONCE = 100
_SESSIONS_THERE = select(SessionRow.id).where(SessionRow.id.in_(bindparam("ids", expanding=True)))
_NEW_SESSION, _NEW_RUN = insert(SessionRow).inline(), insert(RunRow).inline()


class RunRepository:
    """Runs in a database whose tables are there; safe to call from many threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._inserts = inserts_of(self)

    @property
    def lasting(self) -> bool:
        """Whether runs survive a restart."""
        return not forgets_at_restart(self._engine.url)

    def is_kept(self, run_id: str) -> bool:
        """Whether this run survives a restart, if it is there."""
        return self.lasting

    def record(self, run: Run) -> None:
        """Write a run, and its session if this is its first; both are committed when this returns.

        Runs that end while others are being written go into one transaction.
        """
        # A run is logged even if its visitor has left.
        with for_others():
            self._inserts(run)

    def get(self, run_id: str) -> Run | None:
        """The run with this id."""
        with self._reading() as session:
            row = session.scalar(select(RunRow).where(RunRow.id == run_id))
            return _run(row) if row else None

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all of them, or at most so many after the first `skip`."""
        of_session = select(RunRow).where(RunRow.session_id == session_id).order_by(RunRow.number.desc())
        with self._reading() as session:
            return tuple(_run(row) for row in session.scalars(of_session.limit(most).offset(skip)))

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

    def shared_of(self, session_id: str) -> frozenset[str]:
        """The ids of the runs of this session that others can see."""
        own = select(SharedRunRow.run_id).join(RunRow).where(RunRow.session_id == session_id)
        with self._reading() as session:
            return frozenset(session.scalars(own))

    def shared(self, key: str) -> Run | None:
        """The run that is shared under this key."""
        with self._reading() as session:
            row = session.scalar(select(RunRow).join(SharedRunRow).where(SharedRunRow.key == key))
            return _run(row) if row else None

    def _reading(self) -> AbstractContextManager[Session]:
        """A transaction that reads."""
        return reading(self._engine)

    def _writing(self) -> AbstractContextManager[Session]:
        """A transaction that writes, committed when it is left without an error."""
        return writing(self._engine)

    def _recording(self) -> AbstractContextManager[Connection]:
        """The same without what an ORM does for rows that are read or changed: each run passes here."""
        return recording(self._engine)

    def _wipe(self) -> None:
        """Leave nothing of what was deleted in the files."""
        wipe_deleted(self._engine)

    def _insert_all(self, runs: Sequence[Run]) -> list[None]:
        """Write `runs`, none of which is there yet, and those of their sessions that are not."""
        try:
            self._insert(runs)
        except IntegrityError:
            # Another process wrote a session's first run in this very moment; now the session is there.
            self._insert(runs)
        return [None] * len(runs)

    def _insert(self, runs: Sequence[Run]) -> None:
        sessions = dict.fromkeys(storable(run.session_id) for run in runs)
        with self._recording() as connection:
            there = set(connection.execute(_SESSIONS_THERE, {"ids": list(sessions)}).scalars())
            new = [{"id": each, "created_utc": datetime.now(UTC)} for each in sessions if each not in there]
            if new:
                connection.execute(_NEW_SESSION, new)
            connection.execute(_NEW_RUN, [{**vars(run), "task": run.task.value} for run in runs])


def inserts_of(runs: RunRepository) -> Shared[Run, None]:
    """What writes to `runs` for many threads: one transaction for all who come while another is under way.

    SQLite lets one transaction write at a time, and whoever finds it taken sleeps for longer than a write takes.
    """
    return Shared(runs._insert_all, lambda waiting: range(min(len(waiting), _MOST_AT_ONCE)), patience=0.0)


def reading(engine: Engine) -> AbstractContextManager[Session]:
    """A transaction that reads."""
    return sessionmaker(engine).begin()


def writing(engine: Engine) -> AbstractContextManager[Session]:
    """A transaction that writes, committed when it is left without an error."""
    return sessionmaker(engine.execution_options(**WRITES)).begin()


def recording(engine: Engine) -> AbstractContextManager[Connection]:
    """The same without an ORM."""
    return engine.execution_options(**WRITES).begin()


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
