"""The session log: runs in a database, which may fail and come back while visitors run models."""

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from demo.log.database import (
    COUNTED_RUNS,
    RUNS,
    SESSIONS,
    SHARED_RUNS,
    WHOLE_RUNS,
    Database,
    DatabaseGone,
    open_database,
    run_of,
)
from demo.log.deletions import Deletion
from demo.log.run import Run, keeps, owner, with_wish
from models.errors import InputError
from models.wording import Sentence

_log = logging.getLogger(__name__)
_MOST_WAITING = 2_000
_MOST_PASSING = 300
_PASSES_WITHIN = timedelta(hours=1)
_NOT_OPENED_YET = "it is not open yet"
_KEY_BYTES = 24
_SESSION_THERE = select(SESSIONS.c.id).where(SESSIONS.c.id == bindparam("session_id"))
_NOT_YOURS = Sentence(
    "Only a run that this browser made and that is still in its History can be shared. Run it here first."
)
_LEADS_NOWHERE = Sentence(
    "This link leads to no run: the run was deleted, is no longer shared, or belongs to another host. "
    "What you see here are the recorded examples."
)


class LogUnavailable(InputError):
    """The database cannot be used now."""

    def __init__(self) -> None:
        super().__init__(Sentence("The history cannot be read or changed at the moment. Please try again in a minute."))


class SessionLog:
    """The log at `database_url`; safe to call from many threads.

    While the database cannot be written, runs wait in memory, at most 2,000; `recover` opens it again and writes them.
    Other calls that need the database then raise `LogUnavailable`, and none waits for it longer than for a lock. Runs
    of a session that wants nothing kept stay in memory for an hour, so that their attention can be looked at.

    `why_not` says, for the host, why the database cannot be written; it is empty while it can.
    """

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._database: Database | None = None
        self._waiting: OrderedDict[str, Run] = OrderedDict()
        self._passing: OrderedDict[str, Run] = OrderedDict()
        # SQLite lets one transaction write at a time; one that finds the lock taken sleeps for longer than a write.
        self._turn = threading.Lock()
        # Held while a run goes from memory to the database, so that it cannot be deleted in between.
        self._moving = threading.RLock()
        self._recovering = threading.Lock()
        self.why_not = _NOT_OPENED_YET
        # Deleted data may be left in the files: by a killed process, or while a connection reads.
        self._to_wipe = True
        self.recover()

    @property
    def lasting(self) -> bool:
        """Whether runs survive a restart now."""
        return not self.why_not and self._database is not None and self._database.lasting

    def is_kept(self, run_id: str) -> bool:
        """Whether a run is in the database, which is assumed of every run that is not held in memory."""
        return run_id not in self._waiting and run_id not in self._passing

    def record(self, run: Run) -> None:
        """Write a run and commit it; where the database fails, the run waits in memory.

        For a session that wants nothing kept, the run is only counted in the database.
        """
        kept = keeps(run.session_id)
        if not kept:
            self._hold(self._passing, run, _MOST_PASSING)
        try:
            if self.why_not:
                # No caller waits for a database that is known to fail.
                raise LogUnavailable
            self._write(run, kept)
        except LogUnavailable as error:
            if kept and self._hold(self._waiting, run, _MOST_WAITING):
                _log.error("more than %d runs wait for the session log; the oldest is lost", _MOST_WAITING)
            if isinstance(error.__cause__, DatabaseGone):
                # A file that was deleted can be created again at once.
                self.recover()

    def get(self, run_id: str) -> Run | None:
        """The run with this id, in memory or in the database; `None` where there is none."""
        in_memory = self._waiting.get(run_id) or self._passing.get(run_id)
        return in_memory or self._first(WHOLE_RUNS.where(RUNS.c.id == run_id))

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all, or at most `most` after the first `skip`.

        While the database cannot be read, these are only the runs that wait in memory.
        """
        session_id = owner(session_id)
        with self._moving:
            waiting = tuple(run for run in reversed(self._waiting.values()) if run.session_id == session_id)
        first = waiting[skip:] if most is None else waiting[skip : skip + most]
        left = None if most is None else most - len(first)
        of_session = WHOLE_RUNS.where(RUNS.c.session_id == session_id).order_by(RUNS.c.number.desc())
        try:
            with self.reading() as connection:
                found = connection.execute(of_session.limit(left).offset(max(0, skip - len(waiting))))
                written = [run_of(row) for row in found]
        except LogUnavailable:
            return first
        ids = {run.id for run in waiting}
        return (*first, *(run for run in written if run.id not in ids))

    def delete(self, run_id: str, session_id: str) -> bool:
        """Delete a run if it belongs to this session; returns whether it did."""
        with self._moving:
            for held, own in ((self._passing, with_wish(session_id, keep=False)), (self._waiting, owner(session_id))):
                if run_id in held:
                    return held[run_id].session_id == own and bool(held.pop(run_id))
            of_session = RUNS.c.session_id == owner(session_id)
            with self.writing() as connection:
                there = connection.execute(RUNS.delete().where(RUNS.c.id == run_id, of_session)).rowcount == 1
                Deletion.of(session_id, run_id).announce(connection)
        self.wipe()
        return there

    def delete_all(self, session_id: str) -> int:
        """Delete a session with all its runs; returns the number of kept runs that it had."""
        session_id, unkept = owner(session_id), with_wish(session_id, keep=False)
        with self._moving:
            _drop(self._passing, lambda run: run.session_id == unkept)
            with self.writing() as connection:
                count = connection.execute(RUNS.delete().where(RUNS.c.session_id == session_id)).rowcount
                connection.execute(SESSIONS.delete().where(SESSIONS.c.id == session_id))
                Deletion.of(session_id).announce(connection)
            count += _drop(self._waiting, lambda run: run.session_id == session_id)
        self.wipe()
        return count

    def hear(self, deletion: Deletion) -> None:
        """Drop from memory what another process deleted; waiting runs stay unless the deletion names their session."""
        with self._moving:
            for held in (self._passing, self._waiting) if deletion.session else (self._passing,):
                _drop(held, lambda run: deletion.covers(run.session_id, run.id, run.created_utc.timestamp()))

    def share(self, run_id: str, session_id: str) -> str:
        """Share a run of this session and return its unguessable key; raises `InputError` for any other run."""
        with self.writing() as connection:
            if connection.scalar(_own(run_id, session_id)) is None:
                raise InputError(_NOT_YOURS)
            key = connection.scalar(select(SHARED_RUNS.c.key).where(SHARED_RUNS.c.run_id == run_id))
            if key is None:
                key = secrets.token_urlsafe(_KEY_BYTES)
                row = {"key": key, "run_id": run_id, "created_utc": datetime.now(UTC)}
                connection.execute(SHARED_RUNS.insert(), row)
            return str(key)

    def unshare(self, run_id: str, session_id: str) -> bool:
        """End the sharing of a run; returns whether it was shared."""
        with self.writing() as connection:
            shared = SHARED_RUNS.c.run_id.in_(_own(run_id, session_id))
            return connection.execute(SHARED_RUNS.delete().where(shared)).rowcount == 1

    def shared_of(self, session_id: str) -> frozenset[str]:
        """The ids of the shared runs of this session; empty while the database cannot be read."""
        own = select(SHARED_RUNS.c.run_id).join(RUNS).where(RUNS.c.session_id == owner(session_id))
        try:
            with self.reading() as connection:
                return frozenset(connection.scalars(own))
        except LogUnavailable:
            return frozenset()

    def shared(self, key: str) -> Run:
        """The run that is shared under `key`; raises `InputError` where there is none."""
        run = self._first(WHOLE_RUNS.join(SHARED_RUNS).where(SHARED_RUNS.c.key == key))
        if run is None:
            raise InputError(_LEADS_NOWHERE)
        return run

    def recover(self) -> bool:
        """Open the database again if it failed, and write the runs that wait; returns whether runs are kept now."""
        if not self.why_not and not self._waiting:
            return True
        if not self._recovering.acquire(blocking=False):
            return False
        try:
            if self.why_not:
                self.close()
                self._database = open_database(self._url)
            self._write_waiting()
        except LogUnavailable:
            return False
        except Exception as error:
            # No error of the log may keep visitors from their answers.
            self._fails(error)
            return False
        finally:
            self._recovering.release()
        if self.why_not not in ("", _NOT_OPENED_YET):
            _log.warning("the session log is written again; it could not be: %s", self.why_not)
        self.why_not = ""
        return True

    def tidy(self) -> None:
        """Drop from memory, after an hour, runs that are not to be kept, and complete deletions."""
        with self._moving:
            before = datetime.now(UTC) - _PASSES_WITHIN
            _drop(self._passing, lambda run: run.created_utc < before)
        if self._to_wipe:
            self.wipe()

    def wipe(self) -> None:
        """Wipe deleted data from the database's files; while a connection reads them, leave that to `tidy`."""
        # The deletion itself is done, so a failure here is not reported to its caller.
        self._to_wipe = True
        with suppress(LogUnavailable), self._using() as database:
            self._to_wipe = not database.wipe_deleted()

    def close(self) -> None:
        """Close the database."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads; raises `LogUnavailable` for a failure of the database."""
        with self._using() as database, database.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, committed when the block ends; raises `LogUnavailable` as `reading` does."""
        with self._using() as database, database.writing() as connection:
            yield connection

    @contextmanager
    def _using(self) -> Iterator[Database]:
        database = self._database
        if database is None:
            raise LogUnavailable
        try:
            yield database
        except (SQLAlchemyError, DatabaseGone) as error:
            if not _is_failure(error):
                raise
            self._fails(error)
            raise LogUnavailable from error

    def _first(self, runs: Select[Any]) -> Run | None:
        with self.reading() as connection:
            row = connection.execute(runs).first()
        return run_of(row) if row else None

    def _hold(self, held: OrderedDict[str, Run], run: Run, most: int) -> bool:
        """Hold a run in memory; returns whether the oldest was dropped to make room."""
        with self._moving:
            held[run.id] = run
            return len(held) > most and bool(held.popitem(last=False))

    def _write(self, run: Run, kept: bool = True) -> None:
        insert = self._insert if kept else self._count
        with self._turn:
            try:
                insert(run)
            except IntegrityError:
                # Another process may have inserted the session in the same moment; now it is there.
                insert(run)

    def _insert(self, run: Run) -> None:
        with self.writing() as connection:
            if connection.scalar(_SESSION_THERE, {"session_id": run.session_id}) is None:
                connection.execute(SESSIONS.insert(), {"id": run.session_id, "created_utc": datetime.now(UTC)})
            connection.execute(RUNS.insert(), {**vars(run), "task": run.task.value})

    def _count(self, run: Run) -> None:
        day = run.created_utc.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        row = {"task": run.task.value, "duration_ms": run.duration_ms, "failed": run.error is not None, "day_utc": day}
        with self.writing() as connection:
            connection.execute(COUNTED_RUNS.insert(), row)

    def _write_waiting(self) -> None:
        while self._waiting:
            with self._moving:
                run = next(iter(self._waiting.values()))
                try:
                    if self._first(WHOLE_RUNS.where(RUNS.c.id == run.id)) is None:
                        self._write(run)
                except SQLAlchemyError:
                    _log.exception("run %s cannot be written to the session log", run.id)
                del self._waiting[run.id]

    def _fails(self, error: Exception) -> None:
        why = " ".join(str(getattr(error, "orig", None) or error).split()) or type(error).__name__
        if why != self.why_not:
            _log.error("runs are not kept, because the session log cannot be written: %s", why, exc_info=error)
        self.why_not = why


def _own(run_id: str, session_id: str) -> Select[Any]:
    return select(RUNS.c.id).where(RUNS.c.id == run_id, RUNS.c.session_id == owner(session_id))


def _drop(runs: OrderedDict[str, Run], is_meant: Callable[[Run], bool]) -> int:
    """Remove the runs for which `is_meant` is true; returns their number."""
    meant = [run.id for run in runs.values() if is_meant(run)]
    for run_id in meant:
        del runs[run_id]
    return len(meant)


def _is_failure(error: Exception) -> bool:
    """Whether the error is a failure of the database, rather than of the one run that it was given."""
    if isinstance(error, StatementError):
        return isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError)
    return not isinstance(error, SQLAlchemyError) or isinstance(error, NoFreeConnection)
