"""The session log as the service uses it: its database may fail and come back while visitors run models."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from demo.log.database import DatabaseGone, open_database
from demo.log.repository import RunRepository
from demo.log.run import Run, keeps, owner, with_wish
from models.errors import InputError

_log = logging.getLogger(__name__)
_MOST_WAITING = 2_000
_MOST_PASSING = 300
_PASSES_WITHIN = timedelta(hours=1)
_NOT_OPENED_YET = "it is not open yet"
_LOOKS_EVERY_S = 2.0
_DAY_S = 86_400.0

Result = TypeVar("Result")


class LogUnavailable(InputError):
    """The database cannot be used now."""

    def __init__(self) -> None:
        super().__init__("The history cannot be read or changed at the moment. Please try again in a minute.")


class SessionLog:
    """The log at `database_url`; safe to call from many threads.

    While the database cannot be written, runs wait in memory, at most 2,000; `recover` opens it again and writes them.
    Whatever else needs the database then raises `LogUnavailable`, and nobody waits for it longer than for a lock. Runs
    of a session that wants nothing kept stay in memory for an hour, so that their attention can be looked at.

    `why_not` says, for the host, why the database cannot be written; it is empty while it can.
    """

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._repository: RunRepository | None = None
        self._waiting: OrderedDict[str, Run] = OrderedDict()
        self._passing: OrderedDict[str, Run] = OrderedDict()
        # Held while a run goes from memory to the database, so that it cannot be deleted in between.
        self._moving = threading.RLock()
        self._recovering = threading.Lock()
        self.why_not = _NOT_OPENED_YET
        # A deletion is not complete while somebody reads, nor where this process was killed.
        self._to_wipe = True
        self.recover()

    @property
    def lasting(self) -> bool:
        """Whether runs survive a restart now."""
        return not self.why_not and self._repository is not None and self._repository.database.lasting

    def is_kept(self, run_id: str) -> bool:
        """Whether a run is in the database, or was when it was last seen."""
        return run_id not in self._waiting and run_id not in self._passing

    def record(self, run: Run) -> None:
        """Write a run, committed when this returns; where that fails it waits in memory.

        Of a session that wants nothing kept, only the fact is written.
        """
        if not keeps(run.session_id):
            self._hold(self._passing, run, _MOST_PASSING)
            with suppress(LogUnavailable):
                self._write(lambda runs: runs.count(run))
            return
        try:
            self._write(lambda runs: runs.record(run))
        except LogUnavailable as error:
            if self._hold(self._waiting, run, _MOST_WAITING):
                _log.error("more than %d runs wait for the session log; the oldest is lost", _MOST_WAITING)
            if isinstance(error.__cause__, DatabaseGone):
                # Nothing has to be waited for: a file that went away is made anew at once.
                self.recover()

    def get(self, run_id: str) -> Run | None:
        """The run with this id, wherever it is."""
        in_memory = self._waiting.get(run_id) or self._passing.get(run_id)
        return in_memory or self.ask(lambda runs: runs.get(run_id))

    def for_session(self, session_id: str, most: int | None = None, skip: int = 0) -> tuple[Run, ...]:
        """The runs of a session, newest first: all, or at most `most` after the first `skip`.

        Only those in memory while the database cannot be read.
        """
        session_id = owner(session_id)
        with self._moving:
            waiting = tuple(run for run in reversed(self._waiting.values()) if run.session_id == session_id)
        first = waiting[skip:] if most is None else waiting[skip : skip + most]
        left = None if most is None else most - len(first)
        try:
            written = self.ask(lambda runs: runs.for_session(session_id, left, max(0, skip - len(waiting))))
        except LogUnavailable:
            return first
        ids = {run.id for run in waiting}
        return (*first, *(run for run in written if run.id not in ids))

    def delete(self, run_id: str, session_id: str) -> bool:
        """Delete a run if it belongs to this session; says whether it did."""
        with self._moving:
            for held, own in ((self._passing, with_wish(session_id, keep=False)), (self._waiting, owner(session_id))):
                if run_id in held:
                    return held[run_id].session_id == own and bool(held.pop(run_id))
            there = self.ask(lambda runs: runs.delete(run_id, owner(session_id)))
        self._wipe()
        return there

    def delete_all(self, session_id: str) -> int:
        """Delete a session with all its runs; says how many runs it had."""
        with self._moving:
            _drop(self._passing, lambda run: run.session_id == with_wish(session_id, keep=False))
            count = self.ask(lambda runs: runs.delete_all(owner(session_id)))
            count += _drop(self._waiting, lambda run: run.session_id == owner(session_id))
        self._wipe()
        return count

    def purge(self, days: int) -> int:
        """Delete the runs older than `days`; says how many there were."""
        count = self.ask(lambda runs: runs.purge(days))
        if count:
            self._wipe()
        return count

    def ask(self, work: Callable[[RunRepository], Result]) -> Result:
        """What `work` returns; raises `LogUnavailable` for a failure of the database."""
        repository = self._repository
        if repository is None:
            raise LogUnavailable
        try:
            return work(repository)
        except (SQLAlchemyError, DatabaseGone) as error:
            if not _is_failure(error):
                raise
            self._fails(error)
            raise LogUnavailable from error

    def recover(self) -> bool:
        """Open the database again if it failed, and write the runs that wait; says whether runs are kept now."""
        if not self.why_not and not self._waiting:
            return True
        if not self._recovering.acquire(blocking=False):
            return False
        try:
            if self.why_not:
                self.close()
                self._repository = RunRepository(open_database(self._url))
            self._write_waiting()
        except Exception as error:
            # Whatever it is: visitors get their answers all the same.
            self._fails(error)
            return False
        finally:
            self._recovering.release()
        if self.why_not not in ("", _NOT_OPENED_YET):
            _log.warning("the session log is written again; it could not be: %s", self.why_not)
        self.why_not = ""
        return True

    def tidy(self) -> None:
        """Drop what has passed in memory, and complete deletions."""
        with self._moving:
            before = datetime.now(UTC) - _PASSES_WITHIN
            _drop(self._passing, lambda run: run.created_utc < before)
        if self._to_wipe:
            self._wipe()

    def close(self) -> None:
        """Close the database."""
        repository, self._repository = self._repository, None
        if repository is not None:
            repository.database.close()

    def _hold(self, held: OrderedDict[str, Run], run: Run, most: int) -> bool:
        """Hold a run in memory; says whether the oldest had to make room."""
        with self._moving:
            held[run.id] = run
            return len(held) > most and bool(held.popitem(last=False))

    def _write_waiting(self) -> None:
        while (repository := self._repository) is not None and self._waiting:
            with self._moving:
                run = next(iter(self._waiting.values()))
                try:
                    if repository.get(run.id) is None:
                        repository.record(run)
                except SQLAlchemyError as error:
                    if _is_failure(error):
                        raise
                    _log.exception("run %s cannot be written to the session log", run.id)
                del self._waiting[run.id]

    def _write(self, work: Callable[[RunRepository], None]) -> None:
        """Like `ask`, but raises `LogUnavailable` at once while the database is known to fail."""
        if self.why_not:
            raise LogUnavailable
        self.ask(work)

    def _wipe(self) -> None:
        # The deletion itself is done, so nothing that goes wrong here is told to whoever asked for it.
        self._to_wipe = True
        with suppress(LogUnavailable):
            self._to_wipe = not self.ask(lambda runs: runs.database.wipe_deleted())

    def _fails(self, error: Exception) -> None:
        why = " ".join(str(getattr(error, "orig", None) or error).split()) or type(error).__name__
        if why != self.why_not:
            _log.error("runs are not kept, because the session log cannot be written: %s", why, exc_info=error)
        self.why_not = why


def _drop(runs: OrderedDict[str, Run], is_meant: Callable[[Run], bool]) -> int:
    """Remove the runs that are meant; returns how many those were."""
    meant = [run.id for run in runs.values() if is_meant(run)]
    for run_id in meant:
        del runs[run_id]
    return len(meant)


def _is_failure(error: Exception) -> bool:
    """Whether the database is at fault, rather than the one run that it was given."""
    if isinstance(error, StatementError):
        return isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError)
    return not isinstance(error, SQLAlchemyError) or isinstance(error, NoFreeConnection)


class Upkeep:
    """Looks after `runs` in a thread of its own: the log comes back after a failure, and forgets what is old.

    `retention_days` is how long a run is kept, `None` for good; `forget_old` drops what has been held in memory for its
    time.
    """

    def __init__(
        self,
        runs: SessionLog,
        retention_days: int | None,
        clock: Callable[[], float] = time.monotonic,
        forget_old: Callable[[], None] = lambda: None,
    ) -> None:
        self._runs = runs
        self._retention_days = retention_days
        self._clock = clock
        self._forget_old = forget_old
        self._purge_at = float("-inf")

    def start(self) -> None:
        """Begin; it ends with the process."""
        threading.Thread(target=self._work, name="session log", daemon=True).start()

    def look(self) -> None:
        """Do what is due now."""
        self._forget_old()
        self._runs.recover()
        self._runs.tidy()
        if self._retention_days is None or self._clock() < self._purge_at:
            return
        with suppress(LogUnavailable):
            gone = self._runs.purge(self._retention_days)
            self._purge_at = self._clock() + _DAY_S
            if gone:
                _log.info("%d runs older than %d days were deleted", gone, self._retention_days)

    def _work(self) -> None:
        while True:
            try:
                self.look()
            except Exception:
                _log.exception("the upkeep of the session log failed; it goes on")
            time.sleep(_LOOKS_EVERY_S)
