"""The host's log: writes each record as one line, whatever its texts hold, plain or in JSON."""

import logging
import sys
from datetime import UTC, datetime
from typing import Literal, NoReturn, TextIO

from pythonjsonlogger.json import JsonFormatter

from demo.settings import SettingError


class PlainFormatter(logging.Formatter):
    """A record as one line with its control characters escaped; the stack of an exception follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The text of the record, without a line break at its end."""
        line = f"{datetime.fromtimestamp(record.created, UTC):%H:%M:%S} {record.levelname.lower()} {record.name}: "
        line += escaped(record.getMessage())
        if record.exc_info:
            line += "".join(f"\n    {escaped(each)}" for each in self.formatException(record.exc_info).splitlines())
        return line


def json_formatter() -> logging.Formatter:
    """A formatter of records as JSON objects: time, level, logger, message, and the fields passed as `extra`."""
    names = {"levelname": "level", "name": "logger", "exc_info": "exception"}
    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s", rename_fields=names, timestamp="time", json_ensure_ascii=True
    )


def set_up_log(format: Literal["plain", "json"], stream: TextIO = sys.stderr) -> None:
    """Send every record of this process to `stream`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(json_formatter() if format == "json" else PlainFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)


def stop(error: SettingError) -> NoReturn:
    """Log the sentence that says what the host must mend, and exit with 2."""
    logging.getLogger("clearhead").critical("%s", error)
    raise SystemExit(2)


def escaped(text: str) -> str:
    """`text` with every unprintable character escaped, so that no terminal or line reader obeys one."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
