"""The runs in a database: write one, read some, share them, delete them, count them."""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, String, bindparam, case, cast, exists, func, literal, select, union_all
from sqlalchemy.exc import IntegrityError

from demo.log.database import COUNTED_RUNS, RUNS, SESSIONS, SHARED_RUNS, Database
from demo.log.run import Run
from models.registry import Task

_DELETED_AT_ONCE = 500
"""So many runs go in one transaction, so that no visitor waits for the deletion of all that is old."""

_SESSION_THERE = select(SESSIONS.c.id).where(SESSIONS.c.id == bindparam("session_id"))
_WHOLE_RUNS = select(*(each for each in RUNS.c if each is not RUNS.c.number))


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
        with self.database.writing() as connection:
            if connection.scalar(_SESSION_THERE, {"session_id": run.session_id}) is None:
                connection.execute(SESSIONS.insert(), {"id": run.session_id, "created_utc": datetime.now(UTC)})
            connection.execute(RUNS.insert(), {**vars(run), "task": run.task.value})

    def count(self, run: Run) -> None:
        """Write that there was a run, and nothing of what it said or of who ran it."""
        day = run.created_utc.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        row = {"task": run.task.value, "duration_ms": run.duration_ms, "failed": run.error is not None, "day_utc": day}
        with self._turn, self.database.writing() as connection:
            connection.execute(COUNTED_RUNS.insert(), row)

    def get(self, run_id: str) -> Run | None:
        """The run with this id."""
        return next(iter(self._read(_WHOLE_RUNS.where(RUNS.c.id == run_id))), None)

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all of them, or at most `most` after the first `skip`."""
        of_session = _WHOLE_RUNS.where(RUNS.c.session_id == session_id).order_by(RUNS.c.number.desc())
        return self._read(of_session.limit(most).offset(skip))

    def every_run(self) -> Iterator[Run]:
        """All runs of all sessions, oldest first, a few at a time in memory."""
        with self.database.reading() as connection:
            yield from map(
                _run, connection.execute(_WHOLE_RUNS.order_by(RUNS.c.number).execution_options(yield_per=100))
            )

    def delete(self, run_id: str, session_id: str) -> bool:
        """Delete a run if it belongs to this session; says whether it did."""
        with self.database.writing() as connection:
            gone = connection.execute(RUNS.delete().where(RUNS.c.id == run_id, RUNS.c.session_id == session_id))
            return gone.rowcount == 1

    def delete_all(self, session_id: str) -> int:
        """Delete a session with all its runs; says how many runs it had."""
        with self.database.writing() as connection:
            gone = connection.execute(RUNS.delete().where(RUNS.c.session_id == session_id))
            connection.execute(SESSIONS.delete().where(SESSIONS.c.id == session_id))
            return gone.rowcount

    def purge(self, days: int, now: datetime | None = None) -> int:
        """Delete runs older than `days`, with empty sessions and counts as old; says how many runs there were."""
        before = (now or datetime.now(UTC)) - timedelta(days=days)
        old = select(RUNS.c.number).where(RUNS.c.created_utc < before).order_by(RUNS.c.number).limit(_DELETED_AT_ONCE)
        empty = ~exists().where(RUNS.c.session_id == SESSIONS.c.id)
        total, count = 0, 1
        while count:
            with self.database.writing() as connection:
                count = connection.execute(RUNS.delete().where(RUNS.c.number.in_(old))).rowcount
                connection.execute(SESSIONS.delete().where(SESSIONS.c.created_utc < before, empty))
                connection.execute(COUNTED_RUNS.delete().where(COUNTED_RUNS.c.day_utc < before))
            total += count
        return total

    def share(self, run_id: str, session_id: str, key: str) -> str | None:
        """The key under which others can see a run of this session: `key`, or the one it has; `None` without such."""
        with self.database.writing() as connection:
            if connection.scalar(_own(run_id, session_id)) is None:
                return None
            there = connection.scalar(select(SHARED_RUNS.c.key).where(SHARED_RUNS.c.run_id == run_id))
            if there is None:
                row = {"key": key, "run_id": run_id, "created_utc": datetime.now(UTC)}
                connection.execute(SHARED_RUNS.insert(), row)
            return there or key

    def unshare(self, run_id: str, session_id: str) -> bool:
        """Let nobody else see a run of this session any more; says whether somebody could."""
        shared = SHARED_RUNS.c.run_id.in_(_own(run_id, session_id))
        with self.database.writing() as connection:
            return connection.execute(SHARED_RUNS.delete().where(shared)).rowcount == 1

    def shared_of(self, session_id: str) -> frozenset[str]:
        """The ids of the runs of this session that others can see."""
        own = select(SHARED_RUNS.c.run_id).join(RUNS).where(RUNS.c.session_id == session_id)
        with self.database.reading() as connection:
            return frozenset(connection.scalars(own))

    def shared(self, key: str) -> Run | None:
        """The run that is shared under this key."""
        return next(iter(self._read(_WHOLE_RUNS.join(SHARED_RUNS).where(SHARED_RUNS.c.key == key))), None)

    def sessions(self) -> int:
        """How many sessions have runs that are kept."""
        with self.database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(SESSIONS)) or 0

    def days(self) -> Sequence[Row[Any]]:
        """For each `day` (UTC, as 2026-05-01) and `task`, newest first: `runs`, those that `failed`, those `not_kept`.

        Those not kept are counted among the runs: that is all that is known of them.
        """
        kept = _per_day(RUNS.c.created_utc, RUNS.c.task, RUNS.c.error.is_not(None), not_kept=0)
        counted = _per_day(COUNTED_RUNS.c.day_utc, COUNTED_RUNS.c.task, COUNTED_RUNS.c.failed, not_kept=1)
        each = union_all(kept, counted).subquery().c
        sums = (
            func.count().label("runs"),
            func.sum(each.failed).label("failed"),
            func.sum(each.not_kept).label("not_kept"),
        )
        days = select(each.day, each.task, *sums).group_by(each.day, each.task)
        with self.database.reading() as connection:
            return connection.execute(days.order_by(each.day.desc(), each.task.desc())).all()

    def _read(self, runs: Select[Any]) -> tuple[Run, ...]:
        with self.database.reading() as connection:
            return tuple(map(_run, connection.execute(runs)))


def _own(run_id: str, session_id: str) -> Select[Any]:
    return select(RUNS.c.id).where(RUNS.c.id == run_id, RUNS.c.session_id == session_id)


def _per_day(moment: Any, task: Any, failed: Any, not_kept: int) -> Select[Any]:
    """A row for each run: its day, its task, and ones and zeros to be summed up."""
    day = func.substr(cast(moment, String), 1, 10).label("day")
    return select(day, task, case((failed, 1), else_=0).label("failed"), literal(not_kept).label("not_kept"))


def _run(row: Row[Any]) -> Run:
    return Run(**{**row._mapping, "task": Task(row.task)})
