"""Open the database of the session log: its folder, its connections and its newest tables."""

import logging
import re
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from demo.sessions.repository import WRITES, RunRepository

_log = logging.getLogger(__name__)
_MIGRATIONS = Path(__file__).parent / "migrations"
_WAIT_FOR_A_LOCK_MS = 5_000
_IN_MEMORY = "sqlite://"


class DatabaseFromTheFuture(Exception):
    """The database was written by a newer version of the demo, which this one must not touch."""


def open_runs(database_url: str) -> RunRepository:
    """The session log at `database_url`; where that cannot be opened, one in memory that forgets at restart.

    A database that cannot be read is left as it is, and the reason goes to the host's log.
    """
    try:
        return RunRepository(open_database(database_url))
    except (SQLAlchemyError, sqlite3.Error, OSError, DatabaseFromTheFuture):
        _log.exception("the session log cannot be opened; until a restart, runs are kept in memory only")
        return RunRepository(open_database(_IN_MEMORY), lasting=False)


def open_database(database_url: str) -> Engine:
    """An engine on the database at `database_url`, created if it is not there, with the newest tables."""
    url = make_url(database_url)
    in_memory = url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")
    if in_memory:
        # One connection is one database here, so all threads take turns on a single one.
        engine = create_engine(
            url, poolclass=QueuePool, pool_size=1, max_overflow=0, connect_args={"check_same_thread": False}
        )
    else:
        if url.get_backend_name() == "sqlite":
            Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    migrate(engine)
    return engine


def newest_revision() -> str:
    """The revision of the last migration; their files are named by it."""
    return max(path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest revision; raises `DatabaseFromTheFuture` for one that is not known here.

    Alembic is imported only when there is something to do, for the import costs more than the start may.
    """
    with engine.execution_options(**WRITES).begin() as connection:
        current = _current_revision(connection)
        if current == newest_revision():
            return
        if current is not None and not any((_MIGRATIONS / "versions").glob(f"{re.escape(current)}_*.py")):
            raise DatabaseFromTheFuture(f"its tables are at revision {current!r}, newer than {newest_revision()!r}")
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _set_up_sqlite(connection: Any, _record: object) -> None:
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
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
