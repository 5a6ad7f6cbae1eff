"""Upkeep of the log for its host: reads and counts all runs, deletes old ones, and recovers after a failure."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, String, case, cast, exists, func, literal, select, union_all

from demo.log.database import COUNTED_RUNS, RUNS, SESSIONS, WHOLE_RUNS, Database, run_of
from demo.log.deletions import Deletion
from demo.log.run import Run
from demo.log.session_log import LogUnavailable, SessionLog

_log = logging.getLogger(__name__)
_LOOKS_EVERY_S = 2.0
_DAY_S = 86_400.0
_DELETED_AT_ONCE = 500
"""The most runs that one transaction deletes, so that no visitor waits until all old ones are gone."""


def every_run(database: Database) -> Iterator[Run]:
    """Yield all runs of all sessions, oldest first, with at most 100 in memory."""
    oldest_first = WHOLE_RUNS.order_by(RUNS.c.number).execution_options(yield_per=100)
    with database.reading() as connection:
        yield from map(run_of, connection.execute(oldest_first))


def sessions(database: Database) -> int:
    """The number of sessions in the database."""
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(SESSIONS)) or 0


def days(database: Database) -> Sequence[Row[Any]]:
    """The counts `runs`, `failed` and `not_kept` for each `day` (UTC, as 2026-05-01) and `task`, newest day first.

    `runs` and `failed` include the runs that were not kept.
    """
    kept = _per_day(RUNS.c.created_utc, RUNS.c.task, RUNS.c.error.is_not(None), not_kept=0)
    counted = _per_day(COUNTED_RUNS.c.day_utc, COUNTED_RUNS.c.task, COUNTED_RUNS.c.failed, not_kept=1)
    each = union_all(kept, counted).subquery().c
    sums = [func.sum(each[name]).label(name) for name in ("failed", "not_kept")]
    found = select(each.day, each.task, func.count().label("runs"), *sums).group_by(each.day, each.task)
    with database.reading() as connection:
        return connection.execute(found.order_by(each.day.desc(), each.task.desc())).all()


def _per_day(moment: Any, task: Any, failed: Any, not_kept: int) -> Select[Any]:
    """A query for one row per run: its day, its task, and 0 or 1 for `failed` and `not_kept`, to be summed."""
    day = func.substr(cast(moment, String), 1, 10).label("day")
    return select(day, task, case((failed, 1), else_=0).label("failed"), literal(not_kept).label("not_kept"))


def purge(log: Database | SessionLog, days: int, now: datetime | None = None) -> int:
    """Delete runs older than `days`, and empty sessions and counts as old; returns the number of runs deleted."""
    before = (now or datetime.now(UTC)) - timedelta(days=days)
    old = _unlocked(RUNS.c.number, RUNS.c.created_utc < before).order_by(RUNS.c.number).limit(_DELETED_AT_ONCE)
    counted = _unlocked(COUNTED_RUNS.c.number, COUNTED_RUNS.c.day_utc < before)
    empty = ~exists().where(RUNS.c.session_id == SESSIONS.c.id)
    sessions = _unlocked(SESSIONS.c.id, SESSIONS.c.created_utc < before, empty).limit(_DELETED_AT_ONCE)
    total, more = 0, True
    while more:
        with log.writing() as connection:
            count = connection.execute(RUNS.delete().where(RUNS.c.number.in_(old))).rowcount
            # Lock sessions, then check again that they are empty: deleting one would delete a run written meanwhile.
            locked = connection.scalars(sessions).all()
            connection.execute(SESSIONS.delete().where(SESSIONS.c.id.in_(locked), empty))
            connection.execute(COUNTED_RUNS.delete().where(COUNTED_RUNS.c.number.in_(counted)))
            if count:
                Deletion(made_before=before.timestamp()).announce(connection)
        total += count
        more = bool(count or locked)
    return total


def _unlocked(key: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[Any]:
    """A query that locks rows and skips those that others have locked, so that two purges at once share the work."""
    return select(key).where(*conditions).with_for_update(skip_locked=True)


class Upkeep:
    """Looks after the log in a thread; a run is kept for `retention_days`, or for good where that is `None`.

    `forget_old` drops expired texts from memory.
    """

    def __init__(
        self,
        runs: SessionLog,
        retention_days: int | None,
        clock: Callable[[], float] = time.monotonic,
        forget_old: Callable[[], None] = lambda: None,
    ) -> None:
        self._runs = runs
        self._retention_days = retention_days
        self._clock = clock
        self._forget_old = forget_old
        self._purge_at = float("-inf")

    def start(self) -> None:
        """Start the thread, which ends with the process."""
        threading.Thread(target=self._work, name="session log", daemon=True).start()

    def look(self) -> None:
        """Recover and tidy the log now, and once a day delete old runs."""
        self._forget_old()
        self._runs.recover()
        self._runs.tidy()
        if self._retention_days is None or self._clock() < self._purge_at:
            return
        with suppress(LogUnavailable):
            gone = purge(self._runs, self._retention_days)
            self._purge_at = self._clock() + _DAY_S
            if gone:
                self._runs.wipe()
                _log.info("%d runs older than %d days were deleted", gone, self._retention_days)

    def _work(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                _log.exception("the upkeep of the session log failed; it goes on")
            time.sleep(_LOOKS_EVERY_S)
