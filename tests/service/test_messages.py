"""Errors become messages in one place: a sentence for those outside, the rest for the host's log."""

import inspect
import logging
from collections.abc import Iterator

import gradio as gr
import pytest

from demo.events import for_callers, for_visitors
from demo.runs import OUR_FAULT
from models.errors import InputError


def refusing(text: str) -> str:
    """A handler that refuses."""
    raise InputError(f"Write <mask> in it & not {text}.", "text")


def failing(text: str) -> str:
    raise RuntimeError(f"a secret about {text}")


def growing(text: str) -> Iterator[str]:
    yield text
    raise InputError("That is <enough>.")


def test_the_page_reads_a_sentence_as_text_and_callers_letter_by_letter() -> None:
    with pytest.raises(gr.Error) as shown:
        for_visitors(refusing)("that")
    assert shown.value.message == "Write &lt;mask&gt; in it &amp; not that."
    with pytest.raises(gr.Error) as answered:
        for_callers(refusing)("that")
    assert answered.value.message == "Write <mask> in it & not that."
    assert not answered.value.print_exception


def test_what_nobody_expected_is_told_to_the_host_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as shown:
        for_visitors(failing)("weights")
    assert shown.value.message == OUR_FAULT
    assert "a secret about weights" in caplog.text


def test_a_handler_that_streams_still_streams() -> None:
    stream = for_visitors(growing)("one")
    assert inspect.isgeneratorfunction(for_visitors(growing))
    assert next(stream) == "one"
    with pytest.raises(gr.Error, match="enough"):
        next(stream)


def test_a_message_made_elsewhere_passes_as_it_is() -> None:
    def warned() -> None:
        raise gr.Error("made by hand")

    with pytest.raises(gr.Error, match="made by hand"):
        for_callers(warned)()


def test_gradio_still_reads_the_handler_itself() -> None:
    wrapped = for_callers(refusing)
    assert wrapped.__name__ == "refusing"
    assert wrapped.__doc__ == "A handler that refuses."
    assert inspect.signature(wrapped) == inspect.signature(refusing)
