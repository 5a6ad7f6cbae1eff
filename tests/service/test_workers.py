"""Models in another process answer as they do in this one, and every failure on the way becomes one sentence."""

import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as Call
from starlette.responses import Response
from starlette.routing import Route

from demo.log.session_log import SessionLog
from demo.recorded import examples_of
from demo.runs import OUR_FAULT, DemoService
from demo.settings import Settings
from demo.walk.steps import STEPS
from demo.walk.view import InsideRequest
from models.backend import asks, remote, wire
from models.backend.remote import RemoteBackend, WorkersAway
from models.backend.worker import Worker
from models.errors import CheckpointUnavailable, InputError
from models.loading.store import ModelStore
from models.registry import Task, find
from models.tasks.text_classification import TextClassificationInput
from models.tasks.text_generation import TextGenerationInput
from models.wording import Sentence
from tests.api.server import free_port
from tests.service.scripted import ScriptedModel, ScriptedStore, completion, sentiment

_LONG_S = 60.0


@contextmanager
def listening(app: Any, port: int = 0) -> Iterator[str]:
    """The address at which `app` answers, from a thread of this process."""
    port = port or free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + _LONG_S
    while not server.started and time.monotonic() < ends:
        time.sleep(0.02)
    assert server.started
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(_LONG_S)


def working(store: Any) -> Starlette:
    return Starlette(routes=[Route("/ask/{checkpoint}", Worker(store).answer, methods=["POST"])])


def service_over(backend: RemoteBackend, folder: Path) -> DemoService:
    return DemoService(Settings(), backend, SessionLog(f"sqlite:///{folder}/runs.sqlite3"))


def refused(asked: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as error:
        asked()
    return error.value.sentence


@pytest.fixture(scope="module")
def elsewhere(store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    """A service whose models, the same as `service` has, are asked over HTTP."""
    with listening(working(store)) as address:
        yield service_over(RemoteBackend(address), tmp_path_factory.mktemp("elsewhere"))


def require_same(one: Any, other: Any, place: str = "it") -> None:
    """Compare everything in two typed values, arrays number by number."""
    assert type(one) is type(other), place
    if isinstance(one, np.ndarray):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), place
    elif is_dataclass(one):
        for each in fields(one):
            require_same(getattr(one, each.name), getattr(other, each.name), f"{place}.{each.name}")
    elif isinstance(one, dict):
        require_same(list(one), list(other), place)
        for key, value in one.items():
            require_same(value, other[key], f"{place}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for number, pair in enumerate(zip(one, other, strict=True)):
            require_same(*pair, f"{place}[{number}]")
    else:
        assert one == other, place


class TestTheSame:
    @pytest.mark.parametrize("task", Task)
    def test_answers_and_looks_are_those_of_models_in_this_process(
        self, task: Task, service: DemoService, elsewhere: DemoService
    ) -> None:
        given = dict(examples_of(task)[0].fields)
        here, there = (each.run(each.new_session(), task, given) for each in (service, elsewhere))
        if task is Task.TINY_MODEL:
            # How long its steps took is part of the answer.
            assert there.run.answer and list(there.run.answer) == list(here.run.answer or ())
            return
        require_same(here.output, there.output)
        assert here.run.parameters == there.run.parameters
        if not task.kinds:
            return
        require_same(service.attention(here.source), elsewhere.attention(there.source))
        if task is Task.GENERATIONS:
            require_same(service.generations(here.source), elsewhere.generations(there.source))
        if task is Task.COMPLETION:
            require_same(service.decided(here.source), elsewhere.decided(there.source))
        if task in (Task.FILL_MASK, Task.SENTIMENT, Task.COMPLETION):
            require_same(service.attribution(here.source), elsewhere.attribution(there.source))
        if task in (Task.FILL_MASK, Task.SENTIMENT, Task.TRANSLATION, Task.COMPLETION):
            changed = [each.ablate(run.source, 1, 2) for each, run in ((service, here), (elsewhere, there))]
            require_same(changed[0].after, changed[1].after)
            changed = [each.replace_token(run.source, 2, "dog") for each, run in ((service, here), (elsewhere, there))]
            require_same(changed[0].after, changed[1].after)

    @pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
    def test_every_step_of_the_walk_too(self, step: Any, service: DemoService, elsewhere: DemoService) -> None:
        asked = InsideRequest(step.key, "The keeper lit the [MASK].", "clearhead-minilm", layer=2, head=3)
        found = [step.numbers(each.inside, each.inside.checked(asked)[0]) for each in (service, elsewhere)]
        require_same(*found)

    def test_what_is_turned_in_the_walk_too(self, service: DemoService, elsewhere: DemoService) -> None:
        asked = InsideRequest("head", "The keeper lit the [MASK].", "clearhead-minilm", layer=2, head=3)
        request = service.inside.checked(asked)[0]
        marked = "The capital of *France* is [MASK].", "The capital of *Italy* is [MASK]."
        for turn in (
            lambda inside: inside.turn_query(request, 3, 1.5),
            lambda inside: inside.turn_block(request, 0.5, 0.0),
            lambda inside: inside.temperatures(request),
            lambda inside: inside.patch(request, *marked),
            lambda inside: inside.vectors(request),
        ):
            require_same(turn(service.inside), turn(elsewhere.inside))

    def test_a_text_grows_token_by_token_and_a_tree_is_grown(
        self, service: DemoService, elsewhere: DemoService
    ) -> None:
        given = {"prompt": "Once upon a time", "max_new_tokens": 6, "strategy": "greedy"}
        grown = [[run.output for run in each.stream("", given)] for each in (service, elsewhere)]
        assert len(grown[1]) >= 6
        require_same(*grown)
        require_same(*(each.decode_tree(given | {"num_beams": 2}) for each in (service, elsewhere)))

    def test_a_refusal_keeps_its_field_its_class_and_what_it_is_translated_by(self, elsewhere: DemoService) -> None:
        with pytest.raises(InputError) as error:
            elsewhere.run("", Task.FILL_MASK, {"text": "There is no blank here."})
        assert error.value.field == "text"
        assert isinstance(error.value.sentence, Sentence)
        with pytest.raises(CheckpointUnavailable):
            elsewhere.run("", Task.SENTIMENT, {"text": "Fine."}, "distilbert-sst2")


class TestTrouble:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(remote, "_TRIED_AGAIN_AFTER_S", (0.01, 0.01))

    def test_without_a_worker_there_is_a_sentence_a_line_in_the_log_and_a_failed_run(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        port = free_port()
        service = service_over(RemoteBackend(f"http://127.0.0.1:{port}"), tmp_path)
        session = service.new_session()
        for _ in range(3):
            said = refused(lambda: service.run(session, Task.SENTIMENT, {"text": "Fine."}))
            assert said == "The models of this page cannot be reached at the moment. Please try again in a minute."
        assert [(run.error, run.inputs) for run in service.history(session)] == [(said, {"text": "Fine."})] * 3
        assert len([each for each in caplog.records if each.name == remote.__name__]) == 1
        with pytest.raises(WorkersAway):
            service.model_answers()
        store = ScriptedStore(ScriptedModel(sentiment, TextClassificationInput))
        with listening(working(store), port):
            assert service.run(session, Task.SENTIMENT, {"text": "Fine."}).output.tokens
        assert "models answer again" in caplog.text

    def test_a_worker_with_other_models_is_not_asked(
        self, store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with listening(working(store)) as address:
            monkeypatch.setattr(remote, "release", lambda: "0123456789abcdef")
            service = service_over(RemoteBackend(address), tmp_path)
            said = refused(lambda: service.run("", Task.SENTIMENT, {"text": "Fine."}))
        assert said == "The models of this page are being renewed. Please try again in a minute."

    def test_a_worker_that_dies_before_it_answers_is_asked_again(self, tmp_path: Path) -> None:
        worker, died = Worker(ScriptedStore(ScriptedModel(sentiment, TextClassificationInput))), []

        async def die_first(call: Call) -> Response:
            if not died:
                died.append(call)
                return Response(wire.ALIVE, headers={"content-length": "9"})
            return await worker.answer(call)

        with listening(Starlette(routes=[Route("/ask/{checkpoint}", die_first, methods=["POST"])])) as address:
            service = service_over(RemoteBackend(address), tmp_path)
            assert service.run("", Task.SENTIMENT, {"text": "Fine."}).output.tokens
        assert died

    def test_after_the_first_run_of_a_task_each_asks_a_worker_once(self, tmp_path: Path) -> None:
        worker, asked = Worker(ScriptedStore(ScriptedModel(sentiment, TextClassificationInput))), list[Call]()

        async def count(call: Call) -> Response:
            asked.append(call)
            return await worker.answer(call)

        with listening(Starlette(routes=[Route("/ask/{checkpoint}", count, methods=["POST"])])) as address:
            service = service_over(RemoteBackend(address), tmp_path)
            for text in ("One.", "Two.", "Three."):
                assert service.run("", Task.SENTIMENT, {"text": text}).run.inputs == {"text": text}
        assert len(asked) == 4

    def test_an_error_of_a_worker_is_ours_and_its_details_stay_there(self, tmp_path: Path) -> None:
        def fails(_inputs: Any) -> Any:
            raise ZeroDivisionError("a secret of the worker's")

        with listening(working(ScriptedStore(ScriptedModel(fails, TextClassificationInput)))) as address:
            service = service_over(RemoteBackend(address), tmp_path)
            assert refused(lambda: service.run("", Task.SENTIMENT, {"text": "Fine."})) == OUR_FAULT

    def test_when_the_page_hangs_up_the_worker_stops(self) -> None:
        computed, stopped = threading.Event(), threading.Event()

        class Endless(ScriptedModel):
            def stream(self, inputs: TextGenerationInput) -> Any:
                from models.cancellation import go_on

                try:
                    for length in range(1, 10_000):
                        go_on()
                        yield completion(length, finished=False)
                        computed.set()
                        time.sleep(0.01)
                finally:
                    stopped.set()

        store = ScriptedStore(Endless(lambda _: completion(1, finished=False), TextGenerationInput))
        with listening(working(store)) as address:
            backend, checkpoint = RemoteBackend(address), find("", Task.COMPLETION)
            with closing(backend.write(checkpoint, Task.COMPLETION, TextGenerationInput("Once"))) as growing:
                next(growing)
            assert computed.wait(_LONG_S)
            assert stopped.wait(_LONG_S)


class _Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.called = function, arguments

    def __reduce__(self) -> Any:
        return self.called


@pytest.mark.parametrize(
    "evil",
    [
        _Evil(eval, "1 + 1"),
        _Evil(__import__, "os"),
        _Evil(socket.create_connection, ("127.0.0.1", 1)),
        _Evil(ModelStore),
        _Evil(wire.release),
    ],
)
def test_nothing_but_typed_values_can_come(evil: _Evil) -> None:
    for body in (pickle.dumps(evil), pickle.dumps(replace(_ASKED, arguments=(evil,)))):
        with pytest.raises(pickle.UnpicklingError, match="is no value that a page and a worker send one another"):
            wire.load(body)
    with listening(working(ScriptedStore(ScriptedModel(sentiment, TextClassificationInput)))) as address:
        headers = {wire.RELEASE: wire.release()}
        assert httpx2.post(f"{address}/ask/any", content=pickle.dumps(evil), headers=headers).status_code == 400


def test_no_name_leads_from_a_function_to_what_it_knows() -> None:
    with pytest.raises(pickle.UnpicklingError):
        wire.load(b"\x80\x04\x8c\x13models.backend.asks\x8c\x12answer.__globals__\x93.")


_ASKED = wire.Request(asks.answer, "clearhead-minilm", None, (), {})
