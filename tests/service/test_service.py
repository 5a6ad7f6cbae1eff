"""The service answers, logs every run before its answer is seen, and turns every failure into one sentence."""

import logging
from typing import Any, cast

import pytest

from demo.log.session_log import SessionLog
from demo.runs import OUR_FAULT, DemoService
from demo.web.metrics import STOPPED, Metrics
from models.backend import LocalBackend
from models.errors import InputError, Stopped
from models.outputs.base import TaskOutput
from models.outputs.writing import CompletionOutput
from models.registry import Task
from tests.service.scripted import Build, PromptInput, ScriptedModel, ScriptedStore, TextInput, refusing, writing


def model_of(service: DemoService) -> ScriptedModel:
    return cast(ScriptedStore, cast(LocalBackend, service._backend).store).model


def failing(_inputs: Any) -> TaskOutput:
    raise RuntimeError("a secret at /home/host/weights")


def test_a_run_is_logged_with_all_its_settings_before_the_answer_is_returned(build: Build, runs: SessionLog) -> None:
    service = build()
    finished = service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    logged = runs.get(finished.run.id)
    assert logged == finished.run
    assert logged is not None
    assert (logged.checkpoint, logged.revision, logged.license) == ("clearhead-sentiment", "0123456789ab", "Apache-2.0")
    assert logged.inputs == {"text": "so so"}
    assert logged.parameters == {"top_k": 3}
    assert logged.fields == {"text": "so so", "top_k": 3}
    assert (logged.session_id, logged.error, logged.seed) == ("visitor", None, None)
    assert logged.duration_ms > 0


def test_a_logged_run_reopens_without_its_model(build: Build) -> None:
    service = build()
    finished = service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    loaded = len(cast(ScriptedStore, cast(LocalBackend, service._backend).store).loaded)
    reopened = service.reopen(service.get(finished.run.id))
    assert (reopened.run, reopened.output, reopened.source) == (finished.run, finished.output, finished.source)
    assert len(cast(ScriptedStore, cast(LocalBackend, service._backend).store).loaded) == loaded


def test_a_refused_run_is_logged_with_the_sentence_that_the_visitor_read(build: Build) -> None:
    service = build(refusing)
    with pytest.raises(InputError, match="no blank") as caught:
        service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    (logged,) = service.history("visitor")
    assert logged.error == caught.value.sentence
    assert logged.answer is None
    assert logged.inputs == {"text": "so so"}
    assert logged.checkpoint == "clearhead-sentiment"


def test_an_unexpected_failure_tells_the_host_why_and_the_visitor_only_that(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    service = build(failing)
    with caplog.at_level(logging.ERROR), pytest.raises(InputError) as caught:
        service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    (logged,) = service.history("visitor")
    assert caught.value.sentence == logged.error == OUR_FAULT
    assert logged.id in caplog.text
    assert "a secret at /home/host/weights" in caplog.text


def test_a_text_too_long_is_refused_before_a_model_is_loaded_and_only_its_start_is_logged(build: Build) -> None:
    service = build()
    with pytest.raises(InputError, match="10,000,000 characters"):
        service.run("visitor", Task.SENTIMENT, {"text": "z" * 10_000_000})
    (logged,) = service.history("visitor")
    assert len(logged.inputs["text"]) < 600
    assert logged.inputs["text"].endswith("(10,000,000 characters in all)")
    assert cast(ScriptedStore, cast(LocalBackend, service._backend).store).loaded == []


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"text": "\ud800"}, {"text": "\\ud800"}),
        ({"text": ["a", "list"]}, {"text": "['a', 'list']"}),
        ({"text": 5}, {"text": 5}),
        ({"text": float("nan")}, {"text": "nan"}),
        ({"text": True}, {"text": True}),
        ({"text": list(range(10_000))}, {"text": "[0, 1, 2, 3, 4, 5, ...]"}),
    ],
)
def test_what_cannot_be_used_is_logged_as_far_as_it_can_be(
    build: Build, fields: dict[str, Any], kept: dict[str, Any]
) -> None:
    service = build()
    with pytest.raises(InputError):
        service.run("visitor", Task.SENTIMENT, fields)
    (logged,) = service.history("visitor")
    assert logged.inputs == kept


@pytest.mark.parametrize("checkpoint", ["no-such-model", "clearhead-minilm", "../secrets", "x" * 100_000, 5, ["a"]])
def test_an_unknown_checkpoint_is_refused_and_logged(build: Build, checkpoint: Any) -> None:
    service = build()
    with pytest.raises(InputError):
        service.run("visitor", Task.SENTIMENT, {"text": "so so"}, checkpoint)
    (logged,) = service.history("visitor")
    assert len(logged.checkpoint) < 200
    assert logged.error


def test_a_stream_is_logged_once_and_before_its_last_answer(build: Build) -> None:
    service = build(writing, PromptInput)
    logged = []
    for finished in service.stream("visitor", {"prompt": "so so", "seed": 5}):
        logged.append([run.id for run in service.history("visitor")])
        last = finished
    assert logged == [[], [], [last.run.id]]
    assert service.get(last.run.id) == last.run
    assert last.run.seed == 5
    assert last.run.parameters == {"max_new_tokens": 3}
    assert last.source.written == (7, 7, 7)


def test_a_stopped_stream_is_logged_with_what_was_written(build: Build) -> None:
    service = build(writing, PromptInput)
    stream = service.stream("visitor", {"prompt": "so so"})
    next(stream)
    shown = next(stream)
    stream.close()
    (logged,) = service.history("visitor")
    assert logged.id == shown.run.id
    output = service.output_of(logged)
    assert isinstance(output, CompletionOutput)
    assert (output.text, output.finished) == (" so so", False)
    assert model_of(service).closed


def test_a_run_that_nobody_waits_for_is_logged_and_counted_as_stopped(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    def left(_inputs: TextInput) -> TaskOutput:
        raise Stopped

    service, metrics = build(left), Metrics()
    service.watch(metrics.ran)
    with pytest.raises(Stopped):
        service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    (logged,) = service.history("visitor")
    assert logged.error == Stopped.SENTENCE
    value = metrics.registry.get_sample_value
    assert value("clearhead_runs_total", {"task": "sentiment", "outcome": STOPPED}) == 1
    assert not caplog.records


def test_a_failing_stream_is_logged_as_failed(build: Build) -> None:
    service = build(failing, PromptInput)
    with pytest.raises(InputError, match="our side"):
        list(service.stream("visitor", {"prompt": "so so"}))
    (logged,) = service.history("visitor")
    assert logged.error == OUR_FAULT


def test_attention_is_captured_once_per_run(build: Build) -> None:
    service = build()
    finished = service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    first = service.attention(finished.source)
    assert service.attention(service.source_of(service.get(finished.run.id))) is first
    assert model_of(service).captures == 1


def test_a_run_that_is_gone_is_told_in_words(build: Build) -> None:
    service = build()
    finished = service.run("visitor", Task.SENTIMENT, {"text": "so so"})
    assert service.delete(finished.run.id, "visitor")
    with pytest.raises(InputError, match="deleted"):
        service.get(finished.run.id)


def test_the_ids_of_sessions_and_runs_cannot_be_guessed(build: Build) -> None:
    service = build()
    sessions = {service.new_session() for _ in range(100)}
    runs = {service.run("visitor", Task.SENTIMENT, {"text": "so so"}).run.id for _ in range(20)}
    assert (len(sessions), len(runs)) == (100, 20)
    assert all(len(each) >= 32 for each in sessions | runs)
