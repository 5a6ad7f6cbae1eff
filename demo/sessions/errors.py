"""What can be wrong with the database of the session log."""

from models.errors import InputError


class CannotOpen(Exception):
    """The database cannot be used as it is; only its host can mend that."""


class DatabaseFromTheFuture(CannotOpen):
    """The database was written by a newer version of the demo, which this one must not touch."""


class UnreadableDatabase(CannotOpen):
    """There is a file where the database should be, and it is none; nobody may write to it."""


class DriverMissing(CannotOpen):
    """The address names a kind of database whose driver is not installed."""


class DatabaseGone(Exception):
    """The file that was opened is no longer there, or no longer a database: what is written to it is lost."""


class LogUnavailable(InputError):
    """The database of the session log cannot be used now."""

    def __init__(self) -> None:
        super().__init__("The history cannot be read or changed at the moment. Please try again in a minute.")
