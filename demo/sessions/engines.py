"""Engines for the databases that the log may be in: none lets a visitor wait long, each forgets what is deleted."""

import ctypes
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event

from demo.quick_json import as_json
from demo.sessions.errors import DriverMissing

WRITES = {"writes": True}
"""The execution options of a transaction that will write."""

_WAIT_FOR_A_LOCK_MS = 1_000
_WAIT_FOR_A_SERVER_S = 2
_WAIT_FOR_A_CONNECTION_S = 2
# An error must not carry what a visitor typed into the host's log.
_DISCREET: dict[str, Any] = {"hide_parameters": True, "json_serializer": as_json}
# As many connections as Gradio has threads for handlers: a visitor waits for the database, not for a connection.
_OPTIONS = {**_DISCREET, "pool_size": 5, "max_overflow": 35, "pool_timeout": _WAIT_FOR_A_CONNECTION_S}


def create_log_engine(url: URL) -> Engine:
    """An engine for `url`, not connected yet; raises `DriverMissing`."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    try:
        if url.get_backend_name() == "postgresql":
            return _postgresql_engine(url)
        return create_engine(url, **_OPTIONS)
    except ModuleNotFoundError as error:
        raise DriverMissing(
            f"{error.name} is not installed; for PostgreSQL, write postgresql+psycopg://… and install "
            "requirements-postgres.txt"
        ) from error


def file_of(url: URL) -> Path | None:
    """The file of an SQLite database, `None` for one in memory and for a server's."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database)).absolute()


def forgets_at_restart(url: URL) -> bool:
    """Whether the database is in this process's memory."""
    return url.get_backend_name() == "sqlite" and file_of(url) is None


def leave_open(engine: Engine) -> None:
    """Give up an engine in use by nobody without closing its connections, which would write to its file."""
    for _ in range(engine.pool.checkedin()):  # type: ignore[attr-defined]
        connection = engine.raw_connection()
        # Python closes what nobody refers to, at the latest when it ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection.driver_connection))
        connection.detach()


def wipe_deleted(engine: Engine) -> bool:
    """Take what was deleted out of SQLite's write-ahead log as well; false if somebody still reads from it.

    The pages of the database itself are wiped as they are freed. PostgreSQL does both in its own time.
    """
    if file_of(engine.url) is None:
        return True
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    return not busy


def _sqlite_engine(url: URL) -> Engine:
    if file_of(url) is None:
        # One connection is one database here, so all threads take turns on a single one.
        engine = create_engine(
            url,
            **_DISCREET,
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            connect_args={"check_same_thread": False},
        )
    else:
        engine = create_engine(url, **_OPTIONS)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql_engine(url: URL) -> Engine:
    options = f"-c timezone=UTC -c lock_timeout={_WAIT_FOR_A_LOCK_MS} -c statement_timeout=30000"
    return create_engine(url, connect_args={"connect_timeout": _WAIT_FOR_A_SERVER_S, "options": options}, **_OPTIONS)


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
