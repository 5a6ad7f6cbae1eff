"""SQLite files seen from outside: whether one is a database, and whether it still is the one that was opened."""

import contextlib
import os
import sqlite3
import threading
from pathlib import Path
from urllib.parse import quote

from demo.sessions.errors import DatabaseGone, UnreadableDatabase

_HEADER = b"SQLite format 3\0"


def revision_in(path: Path) -> str | None:
    """The revision of the tables in the file at `path`, `None` where there are none yet; the file is only read.

    Raises `UnreadableDatabase` for a file that is no database. Call it before this process opens the database: closing
    a file drops every lock that the process has on it.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    # SQLite itself would not notice while a write-ahead log lies beside it, and would then write into the file.
    with path.open("rb") as file:
        if file.read(len(_HEADER)) != _HEADER:
            raise UnreadableDatabase(f"{path} is no SQLite database")
    with contextlib.closing(connect_reading(path)) as connection:
        try:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
                return None
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone() or (None,)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise UnreadableDatabase(f"{path} cannot be read: {error}") from error
    return None if revision is None else str(revision)


def connect_reading(path: Path) -> sqlite3.Connection:
    """A connection that can only read, and that makes no file where there is none."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1)


class OpenedFile:
    """The file of an open database; close it only after the database, whose locks would go with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        # Threads share the place in the file: of two that read at once, one would read what comes after the header.
        self._reading = threading.Lock()

    @property
    def is_a_database(self) -> bool:
        """Whether nobody has written over its beginning."""
        with self._reading:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            return os.read(self._descriptor, len(_HEADER)) == _HEADER

    def require(self) -> None:
        """Raise `DatabaseGone` unless the file still is at its path, and a database."""
        try:
            there = self.path.stat()
        except OSError as error:
            raise DatabaseGone(f"{self.path} was deleted or moved away") from error
        if not os.path.samestat(there, os.fstat(self._descriptor)):
            raise DatabaseGone(f"another file took the place of {self.path}")
        if not self.is_a_database:
            raise DatabaseGone(f"{self.path} is no SQLite database any more")

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
