"""A database while it is open, and which of its errors are its own."""

from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from demo.sessions.engines import leave_open
from demo.sessions.files import OpenedFile


@dataclass(frozen=True)
class Opened:
    """An engine, and the file behind it where there is one."""

    engine: Engine
    file: OpenedFile | None

    def require(self) -> None:
        """Raise `DatabaseGone` unless what is written now would still be there tomorrow."""
        if self.file is not None:
            self.file.require()

    def close(self) -> None:
        """Close it, unless that would do harm; nobody may be using it."""
        if self.file is not None and not self.file.is_a_database:
            # Closing would write the log's pages into what stands there now.
            leave_open(self.engine)
            return
        self.engine.dispose()
        if self.file is not None:
            self.file.close()


def is_failure(error: Exception) -> bool:
    """Whether the database is at fault, rather than the one run that it was given."""
    if isinstance(error, StatementError):
        return isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError)
    return not isinstance(error, SQLAlchemyError) or isinstance(error, NoFreeConnection)
