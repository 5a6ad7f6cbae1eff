"""The host's log: one line for each thing that happened, whatever a text in it may hold."""

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn, TextIO

from demo.settings import SettingError

_FIELDS = ("run_id", "task", "checkpoint")
"""What a record may bring along in `extra`."""


class JsonLines(logging.Formatter):
    """A record as one JSON object; an exception is in it with its stack, line breaks escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        said: dict[str, str] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {name: str(value) for name in _FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said)


class PlainLines(logging.Formatter):
    """A record as one line to read: what it says has its line breaks and other controls escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; the stack of an exception follows, each of its lines set in."""
        said = f"{datetime.fromtimestamp(record.created, UTC):%H:%M:%S} {record.levelname.lower()} {record.name}: "
        said += escaped(record.getMessage())
        if record.exc_info:
            said += "".join(f"\n    {escaped(line)}" for line in self.formatException(record.exc_info).splitlines())
        return said


_FORMATS: dict[str, Callable[[], logging.Formatter]] = {"json": JsonLines, "plain": PlainLines}


def set_up_log(format: str, stream: TextIO = sys.stderr) -> None:
    """Send every record of this process to `stream`; raises `SettingError` for a format that is none."""
    if format not in _FORMATS:
        raise SettingError(f"CLEARHEAD_LOG must be one of {', '.join(_FORMATS)}, not {format!r}.")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_FORMATS[format]())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)


def stop(error: SettingError) -> NoReturn:
    """End this process with the one sentence that says what the host must mend, in the log's own format."""
    logging.getLogger("clearhead").critical("%s", error)
    raise SystemExit(2)


def escaped(text: str) -> str:
    """`text` with every character that a terminal or a reader of lines would obey written out."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
