"""Runs for tests of the log, made up without a model."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from demo.log.run import Run, dump_answer
from models.outputs.base import LoadedCheckpoint, Prediction, Token
from models.outputs.encoders import SentimentOutput
from models.registry import Task

OUTPUT = SentimentOutput(
    LoadedCheckpoint("clearhead-sentiment", "0123456789ab", "Apache-2.0"),
    (Token("[CLS]", "[CLS]", 101, special=True), Token("lovely", "lovely", 8403, start=0, end=6)),
    "positive",
    (Prediction("negative", 0.25), Prediction("positive", 0.75)),
)

_FINISHED = Run(
    id="",
    session_id="a-session",
    task=Task.SENTIMENT,
    checkpoint="clearhead-sentiment",
    revision="0123456789ab",
    license="Apache-2.0",
    inputs={"text": "lovely"},
    parameters={},
    seed=None,
    answer=dump_answer(OUTPUT),
    duration_ms=12.5,
    error=None,
    created_utc=datetime(2026, 5, 1, 12, 30, 15, 250_000, UTC),
)


def finished_run(run_id: str, **changes: Any) -> Run:
    """A sentiment run that was answered."""
    return replace(_FINISHED, id=run_id, **changes)


def failed_run(run_id: str, **changes: Any) -> Run:
    """A sentiment run that was refused."""
    return replace(_FINISHED, id=run_id, answer=None, error="The text is empty.", inputs={"text": ""}, **changes)
