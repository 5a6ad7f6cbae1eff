"""The tables of the session log, and the runs in them: write one, read some, share them, delete them."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    CursorResult,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    String,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from demo.log.database import Database
from demo.log.run import Run
from models.registry import Task


class UTCDateTime(TypeDecorator[datetime]):
    """A moment that knows it is UTC: SQLite keeps no time zone, so it is set again on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a moment without a time zone: nobody could say later which one was meant."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be logged")
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class StorableText(TypeDecorator[str]):
    """Text of any length that every database takes: PostgreSQL holds no NUL, and none holds half of a character."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        """Replace what cannot be stored by its escape sequence."""
        return None if value is None else storable(str(value))


class StorableString(TypeDecorator[str]):
    """Like `StorableText`, for short texts."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        """Replace what cannot be stored by its escape sequence."""
        return None if value is None else storable(str(value))


def storable(text: str) -> str:
    """`text` as it comes back from a database: what cannot be stored as its escape sequence."""
    # The texts of visitors are in JSON, which escapes by itself.
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


class Base(DeclarativeBase):
    """The metadata that the migrations are compared with."""

    type_annotation_map = {dict[str, Any]: JSON(none_as_null=True), datetime: UTCDateTime}  # noqa: RUF012


class SessionRow(Base):
    """A visitor's session: an unguessable id, and nothing about the visitor."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(StorableString(64), primary_key=True)
    created_utc: Mapped[datetime]


class RunRow(Base):
    """A run; see `demo.log.run.Run` for what its columns mean."""

    __tablename__ = "runs"
    __table_args__ = (Index("ix_runs_session_id_number", "session_id", "number"),)

    # Counts the runs in the order in which they were written, which two runs of one millisecond need.
    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(StorableString(32), unique=True)
    session_id: Mapped[str] = mapped_column(StorableString(64), ForeignKey("sessions.id", ondelete="CASCADE"))
    task: Mapped[str] = mapped_column(StorableString(32))
    checkpoint: Mapped[str] = mapped_column(StorableText)
    revision: Mapped[str] = mapped_column(StorableText)
    license: Mapped[str] = mapped_column(StorableText)
    inputs: Mapped[dict[str, Any]]
    parameters: Mapped[dict[str, Any]]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    answer: Mapped[dict[str, Any] | None]
    duration_ms: Mapped[float] = mapped_column(Double)
    error: Mapped[str | None] = mapped_column(StorableText)
    created_utc: Mapped[datetime]


class SharedRunRow(Base):
    """A run that its owner lets others see: whoever has the unguessable key. It goes when the run goes."""

    __tablename__ = "shared_runs"

    key: Mapped[str] = mapped_column(StorableString(64), primary_key=True)
    run_id: Mapped[str] = mapped_column(StorableString(32), ForeignKey("runs.id", ondelete="CASCADE"), unique=True)
    created_utc: Mapped[datetime]


class CountedRunRow(Base):
    """A run that its visitor did not want kept: that there was one, on which day, and nothing of what it said."""

    __tablename__ = "counted_runs"

    number: Mapped[int] = mapped_column(primary_key=True)
    task: Mapped[str] = mapped_column(StorableString(32))
    duration_ms: Mapped[float] = mapped_column(Double)
    failed: Mapped[bool]
    day_utc: Mapped[datetime]


_DELETED_AT_ONCE = 500
"""So many runs go in one transaction, so that no visitor waits for the deletion of all that is old."""


_SESSIONS, _RUNS = cast(Table, SessionRow.__table__), cast(Table, RunRow.__table__)
_SESSION_THERE = select(_SESSIONS.c.id).where(_SESSIONS.c.id == bindparam("session_id"))


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
            # Without the ORM, which would take longer than the database.
            connection = session.connection()
            if connection.execute(_SESSION_THERE, {"session_id": session_id}).scalar() is None:
                connection.execute(_SESSIONS.insert(), {"id": session_id, "created_utc": datetime.now(UTC)})
            connection.execute(_RUNS.insert(), {**vars(run), "task": run.task.value})

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
