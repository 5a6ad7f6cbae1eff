"""The tables of the session log."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Double, ForeignKey, Index, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


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
        """What cannot be stored as its escape sequence."""
        return None if value is None else storable(str(value))


class StorableString(TypeDecorator[str]):
    """The same for short texts."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        """What cannot be stored as its escape sequence."""
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
