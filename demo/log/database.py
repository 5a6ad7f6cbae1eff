"""The database of the session log: opened with the newest tables, or refused before anything is written to it."""

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from demo.settings import SettingError

_MIGRATIONS = Path(__file__).parent / "migrations"
_SQLITE_HEADER = b"SQLite format 3\0"
_WAIT_FOR_A_LOCK_MS = 1_000
_WAIT_FOR_A_SERVER_S = _WAIT_FOR_A_CONNECTION_S = 2
# An error must not carry what a visitor typed into the host's log.
_DISCREET: dict[str, Any] = {"hide_parameters": True, "json_serializer": json.dumps}
# As many connections as Gradio has threads for handlers: a visitor waits for the database, not for a connection.
_OPTIONS = {**_DISCREET, "pool_size": 5, "max_overflow": 35, "pool_timeout": _WAIT_FOR_A_CONNECTION_S}


class CannotOpen(Exception):
    """The database cannot be used as it is, and only its host can mend that; the message says why."""


class DatabaseGone(Exception):
    """The file that was opened is no longer at its path: what is written to it would be lost."""


class Database:
    """An open database whose tables are the newest; safe to use from many threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.file = file_of(engine.url)
        self._inode = _inode(self.file)

    @property
    def lasting(self) -> bool:
        """Whether it outlives this process; one in memory does not."""
        return self.engine.url.get_backend_name() != "sqlite" or self.file is not None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that reads."""
        with Session(self.engine) as session, session.begin():
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that writes, committed when the block ends without an error.

        Raises `DatabaseGone` where the file was deleted or replaced: SQLite would write to what nobody finds again.
        """
        self.require_file()
        with Session(self.engine.execution_options(writes=True)) as session, session.begin():
            yield session
        self.require_file()

    def require_file(self) -> None:
        """Raise `DatabaseGone` unless the file that was opened is still at its path."""
        if _inode(self.file) != self._inode:
            raise DatabaseGone(f"{self.file} was deleted, or another file took its place")

    def wipe_deleted(self) -> bool:
        """Take what was deleted out of SQLite's write-ahead log as well; false if somebody still reads from it.

        The pages of the database itself are wiped as they are freed. PostgreSQL does both in its own time.
        """
        if self.file is None:
            return True
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return not busy

    def close(self) -> None:
        """Close its connections; those in use are closed when they are done."""
        self.engine.dispose()


def require_url(database_url: str) -> None:
    """Raise `SettingError` for what is no database's address; it is not repeated, for it may hold a password."""
    try:
        make_url(database_url)
    except ArgumentError as error:
        raise SettingError(
            "CLEARHEAD_DATABASE_URL is no SQLAlchemy URL; write sqlite:////folder/file.sqlite3 or "
            "postgresql+psycopg://user:password@host/database."
        ) from error


def open_database(database_url: str) -> Database:
    """The database at `database_url`, created if it is not there, with the newest tables.

    Raises `CannotOpen` before anything is written where a file is no database or comes from a newer version, and where
    the driver is missing.
    """
    url = make_url(database_url)
    file = file_of(url)
    if file is not None:
        require_known(revision_in(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            # Nobody else on this machine may read it; the write-ahead log is made alike.
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


def file_of(url: URL) -> Path | None:
    """The file of an SQLite database, `None` for one in memory and for a server's."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database)).absolute()


def revision_in(path: Path) -> str | None:
    """The revision of the tables in the file at `path`, `None` where there are none yet; the file is only read.

    Raises `CannotOpen` for a file that is no database. Call it before this process opens the database: closing a file
    drops every lock that the process has on it.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    # SQLite itself would not notice while a write-ahead log lies beside it, and would then write into the file.
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
    """A connection that can only read, and that makes no file where there is none."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)


def newest_revision() -> str:
    """The revision of the last migration; their files are named by it."""
    return max(path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def require_known(revision: str | None) -> None:
    """Raise `CannotOpen` for a revision that no migration here makes."""
    if revision is not None and not any((_MIGRATIONS / "versions").glob(f"{re.escape(revision)}_*.py")):
        raise CannotOpen(f"its tables are at revision {revision!r}, newer than {newest_revision()!r}")


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest revision; raises `CannotOpen` for one that is not known here."""
    with engine.begin() as connection:
        if _current_revision(connection) == newest_revision():
            return
    # Imported only when there is something to do, and before the lock is taken: it takes longer than the start may.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Another process may be starting too; SQLite's transaction has locked it out already.
            connection.execute(text("SET LOCAL lock_timeout = '10s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('clearhead migrations'))"))
        current = _current_revision(connection)
        require_known(current)
        if current != newest_revision():
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _inode(file: Path | None) -> tuple[int, int] | None:
    try:
        found = os.stat(file) if file else None  # noqa: PTH116
    except OSError:
        return None
    return found and (found.st_dev, found.st_ino)


def _create_engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        options = f"-c timezone=UTC -c lock_timeout={_WAIT_FOR_A_LOCK_MS} -c statement_timeout=30000"
        arguments = {"connect_timeout": _WAIT_FOR_A_SERVER_S, "options": options}
        return create_engine(url, connect_args=arguments, **_OPTIONS)
    if url.get_backend_name() != "sqlite":
        return create_engine(url, **_OPTIONS)
    if file_of(url) is not None:
        engine = create_engine(url, **_OPTIONS)
    else:
        # One connection is one database here, so all threads take turns on a single one.
        single: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
        engine = create_engine(url, connect_args={"check_same_thread": False}, **single, **_DISCREET)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Write-ahead log, foreign keys, patience with locks, and pages that are wiped when a run is deleted."""
    # Python's sqlite3 would otherwise begin transactions by its own rules, which leave table changes out.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_WAIT_FOR_A_LOCK_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # A commit that outlives the process, if not a power cut: waiting for the disk would take longer than the model.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """A transaction that will write says so at once: one that turns to writing later fails where it should wait."""
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")
