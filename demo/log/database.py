"""The database of the session log: its tables, and the functions that check, open and migrate it."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Engine, Table, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.types import TypeDecorator

from demo.log.run import Run
from demo.settings import SettingError
from models.registry import Task

_SQLITE_HEADER = b"SQLite format 3\0"
_WAIT_FOR_A_LOCK_MS = 1_000
_WAIT_FOR_A_SERVER_S = 2
_REWRITING_WAITS_S = 30


class CannotOpen(Exception):
    """The database cannot be used as it is, and only its host can mend that; the message says why."""


class DatabaseGone(Exception):
    """The file that was opened is no longer at its path: what is written to it would be lost."""


class _Moment(TypeDecorator[datetime]):
    """A column of UTC datetimes: SQLite keeps no time zone, so reading sets it again."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        # Without a time zone the moment would be ambiguous.
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be logged")
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value and (value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC))


class _Utf8Text(TypeDecorator[str]):
    """A column of text that every database accepts: PostgreSQL stores no NUL, and no database a lone surrogate."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: object, dialect: sa.Dialect) -> str | None:
        if value is None:
            return None
        # The texts of visitors are in JSON, which escapes by itself.
        return str(value).replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _required(name: str, kind: Any, *options: Any, **more: Any) -> Column[Any]:
    return Column(name, kind, *options, nullable=False, **more)


_TABLES = sa.MetaData()

SESSIONS = Table("sessions", _TABLES, Column("id", _Utf8Text(64), primary_key=True), _required("created_utc", _Moment))
"""Visitors' sessions: an unguessable id each, and nothing about the visitor."""

RUNS = Table(
    "runs",
    _TABLES,
    # The order in which runs were written, for two runs may share a millisecond.
    Column("number", sa.Integer, primary_key=True),
    _required("id", _Utf8Text(32), unique=True),
    _required("session_id", _Utf8Text(64), sa.ForeignKey("sessions.id", ondelete="CASCADE")),
    _required("task", _Utf8Text(32)),
    _required("checkpoint", _Utf8Text),
    _required("revision", _Utf8Text),
    _required("license", _Utf8Text),
    _required("inputs", sa.JSON),
    _required("parameters", sa.JSON),
    Column("seed", sa.BigInteger),
    Column("answer", sa.JSON(none_as_null=True)),
    _required("duration_ms", sa.Double),
    Column("error", _Utf8Text),
    _required("created_utc", _Moment),
    sa.Index("ix_runs_session_id_number", "session_id", "number"),
)
"""The columns are the fields of `demo.log.run.Run`."""

WHOLE_RUNS = sa.select(*(each for each in RUNS.c if each is not RUNS.c.number))
"""The query for all runs, in rows that `run_of` reads."""

SHARED_RUNS = Table(
    "shared_runs",
    _TABLES,
    Column("key", _Utf8Text(64), primary_key=True),
    _required("run_id", _Utf8Text(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), unique=True),
    _required("created_utc", _Moment),
)
"""Runs that their owners share with anyone who has the unguessable key; deleting a run deletes its key."""

COUNTED_RUNS = Table(
    "counted_runs",
    _TABLES,
    Column("number", sa.Integer, primary_key=True),
    _required("task", _Utf8Text(32)),
    _required("duration_ms", sa.Double),
    _required("failed", sa.Boolean),
    _required("day_utc", _Moment),
)
"""Runs that their visitors did not want kept: task, duration, day and whether it failed, but no text or answer."""

_VERSION = Table("alembic_version", _TABLES, Column("version_num", sa.String(32), primary_key=True))
"""The revision of the tables, in a table named as in the databases of earlier releases."""

_REVISIONS = ("0001", "0002", "0003")
"""The known revisions: the first has sessions and runs, the second adds shared runs, the third counted runs.

Each only adds tables, so creating the missing tables brings any database up to date. A revision that changes a table
needs its statements in `migrate`.
"""


def run_of(row: sa.Row[Any]) -> Run:
    """The run in a row of `WHOLE_RUNS`."""
    return Run(**{**row._mapping, "task": Task(row.task)})


class Database:
    """An open database at the newest revision; safe to use from many threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.file = file_of(engine.url)
        self._inode = _inode(self.file)

    @property
    def lasting(self) -> bool:
        """Whether the database outlives this process; one in memory does not."""
        return self.engine.url.get_backend_name() != "sqlite" or self.file is not None

    @property
    def bytes(self) -> int:
        """The size in bytes; for SQLite, with the files of the write-ahead log."""
        if self.engine.url.get_backend_name() == "postgresql":
            with self.reading() as connection:
                return int(connection.scalar(sa.text("SELECT pg_database_size(current_database())")) or 0)
        return bytes_of(self.file)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, committed when the block ends without an error.

        Raises `DatabaseGone` where the file was deleted or replaced: SQLite would go on writing to the lost file.
        """
        self._require_file()
        with self.engine.execution_options(writes=True).begin() as connection:
            yield connection
        self._require_file()

    def _require_file(self) -> None:
        if _inode(self.file) != self._inode:
            raise DatabaseGone(f"{self.file} was deleted, or another file took its place")

    def wipe_deleted(self) -> bool:
        """Wipe deleted data from SQLite's write-ahead log too; return false while a connection still reads the log.

        Pages of the database file are wiped as they are freed. PostgreSQL overwrites tables and log in its own time;
        `rewrite` overwrites its tables at once.
        """
        if self.file is None:
            return True
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return not busy

    def rewrite(self) -> None:
        """Shrink the database to its content, which removes all deleted data; nobody else can use it meanwhile."""
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if connection.dialect.name == "postgresql":
                # A plain VACUUM leaves deleted text in pages that hold other rows as well.
                connection.exec_driver_sql(f"SET statement_timeout = 0; SET lock_timeout = '{_REWRITING_WAITS_S}s'")
                connection.exec_driver_sql("VACUUM FULL")
            else:
                connection.exec_driver_sql("VACUUM")
        self.wipe_deleted()

    def close(self) -> None:
        """Close its connections; those in use are closed when they are done."""
        self.engine.dispose()


def require_url(database_url: str) -> None:
    """Raise `SettingError` for an invalid database URL; the message omits the URL, which may hold a password."""
    try:
        make_url(database_url)
    except ArgumentError as error:
        raise SettingError(
            "CLEARHEAD_DATABASE_URL is no SQLAlchemy URL; write sqlite:////folder/file.sqlite3 or "
            "postgresql+psycopg://user:password@host/database."
        ) from error


def open_database(database_url: str) -> Database:
    """Open the database at `database_url`, created if it is missing, and migrate it to the newest revision.

    Raises `CannotOpen` before anything is written where a file is no database or comes from a newer version, and where
    the driver is missing.
    """
    url = make_url(database_url)
    file = file_of(url)
    if file is not None:
        require_known(revision_in(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            # No other user of this machine may read it; SQLite gives the write-ahead log the same permissions.
            file.touch(mode=0o600)
    try:
        engine = _create_engine(url)
    except ModuleNotFoundError as error:
        raise CannotOpen(
            f"{error.name} is not installed; for PostgreSQL, write postgresql+psycopg://… and install "
            "requirements-postgres.txt"
        ) from error
    try:
        migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine)


def file_of(url: sa.URL) -> Path | None:
    """The file of an SQLite database, `None` for one in memory and for a server's."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database)).absolute()


def bytes_of(file: Path | None) -> int:
    """The size in bytes of an SQLite database with its write-ahead log; 0 where there is no file."""
    beside = [file.with_name(file.name + ending) for ending in ("", "-wal", "-shm")] if file else []
    return sum(each.stat().st_size for each in beside if each.exists())


def revision_in(path: Path) -> str | None:
    """The revision of the tables in the file at `path`, `None` where there are none yet; the file is only read.

    Raises `CannotOpen` for a file that is no database. Call it before this process opens the database: closing a file
    drops every lock that the process has on it.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    # SQLite itself does not notice a foreign file beside a write-ahead log, and would then write into it.
    with path.open("rb") as file:
        if file.read(len(_SQLITE_HEADER)) != _SQLITE_HEADER:
            raise CannotOpen(f"{path} is no SQLite database")
    with contextlib.closing(connect_reading(path)) as connection:
        try:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
                return None
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone() or (None,)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise CannotOpen(f"{path} cannot be read: {error}") from error
    return None if revision is None else str(revision)


def connect_reading(path: Path) -> sqlite3.Connection:
    """A read-only connection, which creates no file where there is none."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)


def require_known(revision: str | None) -> None:
    """Raise `CannotOpen` for a revision that is not known here."""
    if revision is not None and revision not in _REVISIONS:
        raise CannotOpen(f"its tables are at revision {revision!r}, newer than {_REVISIONS[-1]!r}")


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest revision; raises `CannotOpen` for one that is not known here."""
    with engine.begin() as connection:
        if _current_revision(connection) == _REVISIONS[-1]:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Another process may be starting too; SQLite's transaction has locked it out already.
            connection.execute(sa.text("SET LOCAL lock_timeout = '10s'"))
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('clearhead migrations'))"))
        require_known(_current_revision(connection))
        _TABLES.create_all(connection)
        connection.execute(_VERSION.delete())
        connection.execute(_VERSION.insert(), {"version_num": _REVISIONS[-1]})


def _current_revision(connection: Connection) -> str | None:
    return connection.scalar(sa.select(_VERSION)) if sa.inspect(connection).has_table(_VERSION.name) else None


def _inode(file: Path | None) -> tuple[int, int] | None:
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return found and (found.st_dev, found.st_ino)


def _create_engine(url: sa.URL) -> Engine:
    # An error must not carry what a visitor typed into the host's log. There are as many connections as Gradio has
    # threads for handlers: a visitor waits for the database, not for a connection.
    options: dict[str, Any] = {"hide_parameters": True, "json_serializer": json.dumps}
    options |= {"pool_size": 5, "max_overflow": 35, "pool_timeout": _WAIT_FOR_A_SERVER_S}
    backend = url.get_backend_name()
    if backend == "postgresql":
        session = f"-c timezone=UTC -c lock_timeout={_WAIT_FOR_A_LOCK_MS} -c statement_timeout=30000"
        options["connect_args"] = {"connect_timeout": _WAIT_FOR_A_SERVER_S, "options": session}
    elif backend == "sqlite" and file_of(url) is None:
        # In memory every connection has its own database, so all threads take turns on a single one.
        options |= {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": 30}
        options["connect_args"] = {"check_same_thread": False}
    engine = sa.create_engine(url, **options)
    if backend == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Turn on the write-ahead log, foreign keys, a wait for locks, and the wiping of pages when a run is deleted."""
    # Python's sqlite3 would otherwise begin transactions by its own rules, which leave table changes out.
    connection.isolation_level = None
    # NORMAL: a commit survives the process, but not a power cut; waiting for the disk would take longer than the model.
    for pragma in (
        f"busy_timeout = {_WAIT_FOR_A_LOCK_MS}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    """Begin a writing transaction with `BEGIN IMMEDIATE`: one that starts to write later fails instead of waiting."""
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")
