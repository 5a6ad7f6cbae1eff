"""The host's log has one line for each event, whatever text it holds, and the details that visitors never see."""

import json
import logging

import httpx
import pytest

from demo.web.host_log import PlainFormatter, escaped, json_formatter
from tests.api.server import Server
from tests.web.calls import PATIENCE_S

_NASTY = 'a\n2026 error forged: all is lost\r\x1b[31mred\x00\u2028"}\u202e'


def _record(message: str, error: Exception | None = None) -> logging.LogRecord:
    information = (type(error), error, None) if error else None
    record = logging.LogRecord("demo.runs", logging.ERROR, "", 1, "run failed: %s", (message,), information)
    record.run_id = "abc"
    return record


@pytest.mark.parametrize("error", [None, ValueError(_NASTY)])
def test_a_json_line_is_one_line_that_says_it_all(error: Exception | None) -> None:
    line = json_formatter().format(_record(_NASTY, error))
    assert line.isascii() and "\n" not in line and "\r" not in line
    said = json.loads(line)
    assert (said["level"], said["logger"], said["run_id"]) == ("ERROR", "demo.runs", "abc")
    assert said["message"] == f"run failed: {_NASTY}"
    assert ("exception" in said) == (error is not None)


def test_a_plain_line_shows_controls_instead_of_obeying_them() -> None:
    line = PlainFormatter().format(_record(_NASTY))
    assert "\n" not in line and "\x1b" not in line and "\u202e" not in line
    assert "a\\n2026 error forged" in line and "\\x1b[31mred" in line
    assert escaped("ordinary — text 🙂") == "ordinary — text 🙂"


def test_the_stack_of_an_exception_is_set_in() -> None:
    try:
        raise ValueError("a\nb")
    except ValueError as error:
        raised = (type(error), error, error.__traceback__)
    record = logging.LogRecord("demo", logging.ERROR, "", 1, "failed", (), raised)
    first, *rest = PlainFormatter().format(record).split("\n")
    assert first.endswith("error demo: failed")
    assert rest and all(line.startswith("    ") for line in rest)


def test_a_stream_of_nobody_ends_with_a_message_and_without_a_word_in_the_log(server: Server) -> None:
    before = len(server.output.read_text())
    for path in ("queue/data?session_hash=unknown", "queue/data?session_hash=", "call/sentiment/unknown"):
        answer = httpx.get(f"{server.url}gradio_api/{path}", timeout=PATIENCE_S)
        assert answer.status_code == 200 and "404" in answer.text, path
    assert server.output.read_text()[before:] == ""
