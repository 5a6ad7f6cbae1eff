"""Copies of an SQLite log, made and put back while the demo is running."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import make_url

from demo.log.database import CannotOpen, connect_reading, file_of, open_database, require_known, revision_in

_PATIENCE_S = 30


class Refused(Exception):
    """A command would lose something or cannot be carried out; the message says what to do instead."""


def back_up(database_url: str, copy: Path, replace: bool = False) -> int:
    """Write all that the log holds now into the file `copy`; says how many runs that are."""
    path = log_file(database_url)
    if copy.exists() and not replace:
        raise Refused(f"{copy} is there already; give another name, or --replace")
    revision_in(path)
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    with closing(connect_reading(path)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        # One file is the whole copy.
        target.execute("PRAGMA journal_mode = DELETE")
        (runs,) = target.execute("SELECT count(*) FROM runs").fetchone()
    part.replace(copy)
    return int(runs)


def restore(database_url: str, copy: Path, replace: bool = False) -> int:
    """Put what `copy` holds in the place of the log; says how many runs that are.

    A log that holds runs is replaced only with `replace`; one that cannot be read is then put aside, not lost.
    """
    if not copy.is_file():
        raise Refused(f"there is no file {copy}")
    runs = _runs_in(copy)
    if runs is None:
        raise CannotOpen(f"{copy} holds no session log")
    path = _file(database_url)
    try:
        there = _runs_in(path) if path.exists() else 0
    except CannotOpen as error:
        if not replace:
            raise Refused(f"{error}; --replace puts it aside and the copy in its place") from error
        _put_aside(path)
    else:
        if there and not replace:
            raise Refused(f"the log holds {there:,} runs; --replace puts the copy in their place")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    with closing(connect_reading(copy)) as source, closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as target:
        # In one transaction: who reads meanwhile sees either the old or the new runs.
        source.backup(target)
    open_database(database_url).close()
    return runs


def log_file(database_url: str) -> Path:
    """The file of the log, which must be there."""
    path = _file(database_url)
    if not path.exists():
        raise Refused(f"there is no session log at {path}")
    return path


def _file(database_url: str) -> Path:
    url = make_url(database_url)
    path = file_of(url)
    if path is None:
        raise Refused(f"{url.get_backend_name()} has its own ways for this, such as pg_dump and pg_restore")
    return path


def _runs_in(path: Path) -> int | None:
    """How many runs a database holds, `None` without tables; raises `CannotOpen` for what cannot be read here."""
    revision = revision_in(path)
    if revision is None:
        return None
    require_known(revision)
    with closing(connect_reading(path)) as connection:
        try:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            (runs,) = connection.execute("SELECT count(*) FROM runs").fetchone()
        except sqlite3.DatabaseError as error:
            raise CannotOpen(f"{path} cannot be read: {error}") from error
    if verdict != "ok":
        raise CannotOpen(f"{path} is damaged: {verdict}")
    return int(runs)


def _put_aside(path: Path) -> None:
    moment = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for ending in ("", "-wal", "-shm"):
        part = path.with_name(path.name + ending)
        if part.exists():
            part.rename(path.with_name(f"{path.name}.unreadable-{moment}{ending}"))
