"""Announces deletions to all processes on one PostgreSQL, so that none keeps deleted texts in memory.

`NOTIFY` runs in the transaction of the deletion, so other processes hear of it once it is committed, and only then.
"""

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from demo.log.run import owner

_log = logging.getLogger(__name__)
_CHANNEL = "clearhead_deleted"
_TRIES_EVERY_S = 1.0
_CONNECTING = {
    "connect_timeout": 2,
    # Notice within ten seconds a server that vanished without closing the connection.
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "application_name": "clearhead deletions",
}


@dataclass(frozen=True)
class Deletion:
    """The texts to drop from memory: of a `session`, of one `run` of it, those `made_before` a moment, or all.

    `made_before` is in seconds since the epoch. Session and run are digests: an id gives access to runs, and every role
    that may connect to the database may listen to this channel, even without access to its tables.
    """

    session: str = ""
    run: str = ""
    made_before: float = math.inf

    @classmethod
    def of(cls, session_id: str, run_id: str = "") -> "Deletion":
        """The deletion of a session, or of one run of it."""
        return cls(_digest(owner(session_id)), run_id and _digest(run_id))

    def is_of(self, session_id: str) -> bool:
        """Whether the deletion may cover texts of this session."""
        return self.session in ("", _digest(owner(session_id)))

    def covers(self, session_id: str, run_id: str, made: float) -> bool:
        """Whether the deletion covers the text of this run, `made` in seconds since the epoch."""
        return self.is_of(session_id) and self.run in ("", _digest(run_id)) and made < self.made_before

    def announce(self, connection: sa.Connection) -> None:
        """Notify every process on a PostgreSQL database once the transaction of `connection` is committed."""
        if connection.dialect.name == "postgresql":
            payload = f"{self.session}:{self.run}:{self.made_before}"
            connection.execute(sa.select(sa.func.pg_notify(_CHANNEL, payload)))


def hear_deletions(database_url: str, forget: Callable[[Deletion], None]) -> None:
    """Start a thread that calls `forget` with every deletion in a PostgreSQL database, this process's own included.

    A lost connection may have missed deletions, so each new one first calls `forget` with a deletion of everything.
    Other databases serve a single process, which needs no thread.
    """
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        threading.Thread(target=_hear, args=(url, forget), name="deletions", daemon=True).start()


def _hear(url: sa.URL, forget: Callable[[Deletion], None]) -> None:
    deaf_because = ""

    def forget_and_say(deletion: Deletion) -> None:
        nonlocal deaf_because
        forget(deletion)
        if deaf_because:
            _log.warning("deletions by other processes are heard again; they were not: %s", deaf_because)
            deaf_because = ""

    while True:
        try:
            _listen(url, forget_and_say)
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            if not deaf_because:
                _log.error("deletions by other processes are not heard: %s", why, exc_info=error)
            deaf_because = why
        time.sleep(_TRIES_EVERY_S)


def _listen(url: sa.URL, forget: Callable[[Deletion], None]) -> None:
    """Call `forget` for everything, as deletions may have been missed, then for each one until the connection fails."""
    import psycopg  # only hosts with PostgreSQL have it

    dialect = url.set(drivername="postgresql+psycopg").get_dialect()()
    arguments, options = dialect.create_connect_args(url)
    with psycopg.connect(*arguments, **{**_CONNECTING, **options}, autocommit=True) as connection:
        connection.execute(f"LISTEN {_CHANNEL}")
        forget(Deletion())
        for notice in connection.notifies():
            forget(_deletion_in(notice.payload))


def _deletion_in(payload: str) -> Deletion:
    try:
        session, run, made_before = payload.split(":")
        return Deletion(session, run, float(made_before))
    except ValueError:
        # Another release may use another format: better to forget too much than too little.
        return Deletion()


def _digest(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "backslashreplace")).hexdigest()
