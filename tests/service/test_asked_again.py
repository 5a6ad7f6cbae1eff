"""A run that a session repeats is answered at once without the model, and logged as a run of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.log.run import with_wish
from models.errors import InputError
from models.outputs.base import TaskOutput
from models.registry import Task
from tests.service.scripted import Build, PromptInput, refusing, sentiment, writing


def counted(asked: list[Any]) -> Callable[[Any], TaskOutput]:
    def script(inputs: Any) -> TaskOutput:
        asked.append(inputs)
        return sentiment(inputs)

    return script


def test_the_same_again_is_logged_as_a_run_of_its_own_without_asking_the_model(build: Build) -> None:
    asked: list[Any] = []
    service = build(counted(asked))
    first, again = (service.run("visitor", Task.SENTIMENT, {"text": "so so"}) for _ in range(2))
    assert len(asked) == 1
    assert again.run.id != first.run.id and service.history("visitor") == (again.run, first.run)
    assert (again.run.answer, again.run.fields, again.output) == (first.run.answer, first.run.fields, first.output)
    assert again.run.created_utc > first.run.created_utc and again.run.duration_ms < 1000

    service.run("visitor", Task.SENTIMENT, {"text": "so so"}, "distilbert-base-uncased-finetuned-sst-2-english")
    service.run("visitor", Task.SENTIMENT, {"text": "so so."})
    assert len(asked) == 3


def test_nobody_is_answered_from_what_another_session_asked(build: Build) -> None:
    asked: list[Any] = []
    service = build(counted(asked))
    for session in ("one", "other"):
        service.run(session, Task.SENTIMENT, {"text": "so so"})
    assert len(asked) == 2


def test_what_is_deleted_or_not_to_be_kept_is_not_held_for_another_time(build: Build) -> None:
    asked: list[Any] = []
    service = build(counted(asked))
    run = service.run("visitor", Task.SENTIMENT, {"text": "so so"}).run
    service.delete(run.id, "visitor")
    service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    assert len(asked) == 2
    service.delete_all("visitor")
    service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    assert len(asked) == 3
    for _ in range(2):
        service.run(with_wish("stranger", keep=False), Task.SENTIMENT, {"text": "so so"})
    assert len(asked) == 5


def test_a_failed_run_is_tried_again(build: Build) -> None:
    service = build(refusing)
    for _ in range(2):
        with pytest.raises(InputError, match="no blank"):
            service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    assert [run.error for run in service.history("visitor")] == ["There is no blank to fill."] * 2


def test_the_same_stream_again_is_whole_at_once_and_a_stopped_one_is_written_anew(build: Build) -> None:
    service = build(writing, PromptInput)
    stopped = service.stream("visitor", {"prompt": "Once"})
    next(stopped)
    stopped.close()
    whole = list(service.stream("visitor", {"prompt": "Once"}))
    assert len(whole) == 3
    (again,) = service.stream("visitor", {"prompt": "Once"})
    assert again.output == whole[-1].output and again.run.id != whole[-1].run.id
    assert len(service.history("visitor")) == 3
