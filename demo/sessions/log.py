"""The session log as it stays in service: its database may fail and come back while visitors run models."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from demo.sessions.engines import file_of, forgets_at_restart, wipe_deleted
from demo.sessions.errors import DatabaseGone, LogUnavailable
from demo.sessions.files import OpenedFile
from demo.sessions.held import HeldRuns
from demo.sessions.keeping import keeps, owner, with_wish
from demo.sessions.opened import Opened, is_failure
from demo.sessions.records import Run
from demo.sessions.repository import RunRepository, inserts_of, reading, recording, writing

_log = logging.getLogger(__name__)
_MOST_WAITING = 2_000
_MOST_PASSING = 300
_PASSES_WITHIN = timedelta(hours=1)
_CLOSES_WITHIN_S = 60.0
_NOT_OPENED_YET = "it is not open yet"


class SessionLog(RunRepository):
    """The log at `database_url`, which `open_database` opens; safe to call from many threads.

    While the database cannot be written, runs are held in memory; `recover` opens it again and writes them. What
    needs the database then raises `LogUnavailable`, and nobody waits for it longer than for a lock.
    """

    def __init__(self, database_url: str, open_database: Callable[[str], Engine]) -> None:
        self._url = database_url
        self._open_database = open_database
        self._inserts = inserts_of(self)
        self._waiting = HeldRuns(_MOST_WAITING)
        # Runs that are not to be kept: for a while, the page goes on from them.
        self._passing = HeldRuns(_MOST_PASSING)
        self._opened: Opened | None = None
        self._users = 0
        self._turn = threading.Condition()
        # Held while a run goes from memory to the database, so that it cannot be deleted in between.
        self._moving = threading.RLock()
        self._recovering = threading.Lock()
        self._why = _NOT_OPENED_YET
        self._to_wipe = True
        self.recover()

    @property
    def lasting(self) -> bool:
        """Whether runs survive a restart now."""
        opened = self._opened
        return not self._why and opened is not None and not forgets_at_restart(opened.engine.url)

    @property
    def why_not(self) -> str:
        """Why the database cannot be written, for the host; empty while it can."""
        return self._why

    @property
    def engine(self) -> Engine | None:
        """The engine of the database while it is open, for figures about it."""
        return self._opened.engine if self._opened else None

    def is_kept(self, run_id: str) -> bool:
        """Whether a run is in the database, or was when it was last seen."""
        return self._waiting.get(run_id) is None and self._passing.get(run_id) is None

    def record(self, run: Run) -> None:
        """Write a run, committed when this returns; where that fails it waits in memory.

        Of a session that wants nothing kept, only the fact is written, and the run is soon forgotten.
        """
        if not keeps(run.session_id):
            self._passing.put(run)
            if not self._why:
                with suppress(LogUnavailable):
                    self.count(run)
            return
        if not self._why:
            with suppress(LogUnavailable):
                super().record(run)
                return
        if not self._waiting.put(run):
            _log.error("more than %d runs wait for the session log; the oldest is lost", _MOST_WAITING)
        if self._is_gone():
            # Nothing has to be waited for: a file that went away is made anew at once.
            self.recover()

    def get(self, run_id: str) -> Run | None:
        """The run with this id, wherever it is."""
        return self._waiting.get(run_id) or self._passing.get(run_id) or super().get(run_id)

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all, or at most so many after the first `skip`.

        Only those in memory while the database cannot be read.
        """
        session_id = owner(session_id)
        waiting = self._waiting.for_session(session_id)
        first = waiting[skip:] if most is None else waiting[skip : skip + most]
        left = None if most is None else most - len(first)
        try:
            written = super().for_session(session_id, left, max(0, skip - len(waiting)))
        except LogUnavailable:
            return first
        ids = {run.id for run in waiting}
        return (*first, *(run for run in written if run.id not in ids))

    def delete(self, run_id: str, session_id: str) -> bool:
        """Forget a run if it belongs to this session; says whether it did."""
        if self._passing.drop(run_id, with_wish(session_id, keep=False)):
            return True
        with self._moving:
            if self._waiting.get(run_id) is not None:
                return self._waiting.drop(run_id, owner(session_id))
            return super().delete(run_id, owner(session_id))

    def delete_all(self, session_id: str) -> int:
        """Forget a session with all its runs; says how many runs it had."""
        self._passing.drop_all(with_wish(session_id, keep=False))
        with self._moving:
            return super().delete_all(owner(session_id)) + self._waiting.drop_all(owner(session_id))

    def share(self, run_id: str, session_id: str, key: str) -> str | None:
        """The key under which others can see a run of this session; `None` for a run that is not kept."""
        return super().share(run_id, owner(session_id), key)

    def unshare(self, run_id: str, session_id: str) -> bool:
        """Let nobody else see a run of this session any more; says whether somebody could."""
        return super().unshare(run_id, owner(session_id))

    def shared_of(self, session_id: str) -> frozenset[str]:
        """The ids of the runs of this session that others can see; none while the database cannot be read."""
        try:
            return super().shared_of(owner(session_id))
        except LogUnavailable:
            return frozenset()

    def recover(self) -> bool:
        """Open the database again if it failed, and write the runs that wait; says whether runs are kept now."""
        if not self._why and not len(self._waiting):
            return True
        if not self._recovering.acquire(blocking=False):
            return False
        try:
            if self._why:
                self._reopen()
            self._write_waiting()
        except Exception as error:
            # Whatever it is: visitors get their answers all the same.
            self._fails(error)
            return False
        finally:
            self._recovering.release()
        if self._why not in ("", _NOT_OPENED_YET):
            _log.warning("the session log is written again; it could not be: %s", self._why)
        self._why = ""
        return True

    def tidy(self) -> None:
        """What deletions left to do, and runs that are not to be kept.

        A deletion is not complete while somebody else reads from the database, or when this process was killed then.
        """
        self._passing.drop_before(datetime.now(UTC) - _PASSES_WITHIN)
        if self._to_wipe:
            self._wipe()

    def close(self) -> None:
        """Close the database."""
        with self._turn:
            opened, self._opened = self._opened, None
            if not self._turn.wait_for(lambda: self._users == 0, _CLOSES_WITHIN_S):
                _log.error("the session log is still used after %d s and is left open", _CLOSES_WITHIN_S)
                opened = None
        if opened is not None:
            opened.close()

    def _reopen(self) -> None:
        """A new engine in the place of the old one, whose connections would get in its way."""
        self.close()
        engine = self._open_database(self._url)
        file = file_of(engine.url)
        self._opened = Opened(engine, OpenedFile(file) if file else None)

    def _write_waiting(self) -> None:
        while True:
            with self._moving:
                run = self._waiting.first()
                if run is None:
                    return
                try:
                    if super().get(run.id) is None:
                        super().record(run)
                except SQLAlchemyError:
                    # The database itself is well, or `LogUnavailable` had been raised.
                    _log.exception("run %s cannot be written to the session log", run.id)
                self._waiting.drop(run.id, run.session_id)

    def _is_gone(self) -> bool:
        try:
            if self._opened is not None:
                self._opened.require()
        except DatabaseGone:
            return True
        return False

    @contextmanager
    def _using(self) -> Iterator[Opened]:
        """The open database, which is not closed meanwhile; its failures become `LogUnavailable`."""
        with self._turn:
            if self._opened is None:
                raise LogUnavailable
            opened = self._opened
            self._users += 1
        try:
            yield opened
        except (SQLAlchemyError, DatabaseGone) as error:
            if not is_failure(error):
                raise
            self._fails(error)
            raise LogUnavailable from error
        finally:
            with self._turn:
                self._users -= 1
                self._turn.notify_all()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._using() as opened, reading(opened.engine) as session:
            yield session

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self._lasting() as opened, writing(opened.engine) as session:
            yield session

    @contextmanager
    def _recording(self) -> Iterator[Connection]:
        with self._lasting() as opened, recording(opened.engine) as connection:
            yield connection

    @contextmanager
    def _lasting(self) -> Iterator[Opened]:
        """The open database, whose file is where it was before and after."""
        with self._using() as opened:
            opened.require()
            yield opened
            # A file that was deleted takes what is written to it all the same.
            opened.require()

    def _wipe(self) -> None:
        # The deletion itself is done, so nothing that goes wrong here is told to whoever asked for it.
        self._to_wipe = True
        with suppress(LogUnavailable), self._using() as opened:
            self._to_wipe = not wipe_deleted(opened.engine)

    def _fails(self, error: Exception) -> None:
        cause = error.__cause__ if isinstance(error, LogUnavailable) and error.__cause__ else error
        why = " ".join(str(getattr(cause, "orig", None) or cause).split()) or type(cause).__name__
        if why != self._why:
            _log.error("runs are not kept, because the session log cannot be written: %s", why, exc_info=cause)
        self._why = why
