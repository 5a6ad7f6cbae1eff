"""Figures of the log for its host: how much is in it, and nothing of what it says."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, String, case, cast, func, select, text
from sqlalchemy.orm import InstrumentedAttribute, Session

from demo.log.database import Database
from demo.log.repository import CountedRunRow, RunRow, SessionRow


@dataclass(frozen=True)
class DayOfTask:
    """The runs of a task on a day (UTC, as 2026-05-01); `not_kept` are those whose visitors wanted none kept."""

    day: str
    task: str
    runs: int
    failed: int
    not_kept: int


@dataclass(frozen=True)
class Statistics:
    """The size of a log, `bytes` with everything that lies beside it."""

    sessions: int
    runs: int
    bytes: int
    days: tuple[DayOfTask, ...]


def statistics(database: Database) -> Statistics:
    """The figures of the log now, its days newest first."""
    with database.reading() as session:
        kept = _by_day(session, RunRow.created_utc, RunRow.task, RunRow.error.is_not(None))
        counted = _by_day(session, CountedRunRow.day_utc, CountedRunRow.task, CountedRunRow.failed.is_(True))
        sessions = session.scalar(select(func.count()).select_from(SessionRow)) or 0
        size = _bytes(database, session)
    days = []
    for day, task in sorted({*kept, *counted}, key=lambda each: (each[0], each[1]), reverse=True):
        runs, failed = kept.get((day, task), (0, 0))
        not_kept, failed_too = counted.get((day, task), (0, 0))
        days.append(DayOfTask(day, task, runs + not_kept, failed + failed_too, not_kept))
    return Statistics(sessions, sum(each.runs - each.not_kept for each in days), size, tuple(days))


def _by_day(
    session: Session,
    moment: InstrumentedAttribute[datetime],
    task: InstrumentedAttribute[str],
    failed: ColumnElement[bool],
) -> dict[tuple[str, str], tuple[int, int]]:
    """By day and task: runs, and those that failed."""
    day = func.substr(cast(moment, String), 1, 10)
    counts = select(day, task, func.count(), func.sum(case((failed, 1), else_=0))).group_by(day, task)
    return {(row[0], row[1]): (row[2], row[3]) for row in session.execute(counts)}


def _bytes(database: Database, session: Session) -> int:
    if path := database.file:
        beside = (path.with_name(path.name + ending) for ending in ("", "-wal", "-shm"))
        return sum(each.stat().st_size for each in beside if each.exists())
    if database.engine.url.get_backend_name() == "postgresql":
        return int(session.scalar(text("SELECT pg_database_size(current_database())")) or 0)
    return 0
