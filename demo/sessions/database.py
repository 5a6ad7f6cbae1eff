"""Open the database of the session log: its folder, its newest tables, and nothing that this version cannot read."""

import re
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from demo.sessions.engines import WRITES, create_log_engine, file_of
from demo.sessions.errors import DatabaseFromTheFuture
from demo.sessions.files import revision_in
from demo.sessions.log import SessionLog
from demo.settings import SettingError

_MIGRATIONS = Path(__file__).parent / "migrations"
_WAIT_FOR_ANOTHER_MIGRATION = "10s"


def require_url(database_url: str) -> None:
    """Raise `SettingError` for what is no database's address; it is not repeated, for it may hold a password."""
    try:
        make_url(database_url)
    except ArgumentError as error:
        raise SettingError(
            "CLEARHEAD_DATABASE_URL is no SQLAlchemy URL; write sqlite:////folder/file.sqlite3 or "
            "postgresql+psycopg://user:password@host/database."
        ) from error


def open_runs(database_url: str) -> SessionLog:
    """The session log at `database_url`; where that cannot be opened, runs wait in memory until it can.

    A database that cannot be read is left as it is, and the reason goes to the host's log.
    """
    return SessionLog(database_url, open_database)


def open_database(database_url: str) -> Engine:
    """An engine on the database at `database_url`, created if it is not there, with the newest tables.

    Raises `DatabaseFromTheFuture` and `UnreadableDatabase` before anything is written.
    """
    url = make_url(database_url)
    file = file_of(url)
    if file is not None:
        require_known(revision_in(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            # Nobody else on this machine may read it; the write-ahead log is made alike.
            file.touch(mode=0o600)
    engine = create_log_engine(url)
    try:
        migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def newest_revision() -> str:
    """The revision of the last migration; their files are named by it."""
    return max(path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def require_known(revision: str | None) -> None:
    """Raise `DatabaseFromTheFuture` for a revision that no migration here makes."""
    if revision is not None and not any((_MIGRATIONS / "versions").glob(f"{re.escape(revision)}_*.py")):
        raise DatabaseFromTheFuture(f"its tables are at revision {revision!r}, newer than {newest_revision()!r}")


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest revision; raises `DatabaseFromTheFuture` for one that is not known here."""
    with engine.begin() as connection:
        if _current_revision(connection) == newest_revision():
            return
    # Imported only when there is something to do, and before the lock is taken: it costs more than the start may.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with engine.execution_options(**WRITES).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Another process may be starting too; SQLite's transaction has locked it out already.
            connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_FOR_ANOTHER_MIGRATION}'"))
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
