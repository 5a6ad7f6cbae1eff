"""Measure workers on Ray Serve: their overhead, their throughput, and the calls that are lost when one is killed.

`python -m benchmarks.workers` starts Ray on this machine and calls its workers as the app does: first the real models,
in turns with the same models in this process; then a model that takes 200 ms for each call, one call at a time, in one
worker and in four; then the same model in two workers, one of which is killed under load.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from benchmarks.fast_app import FastModel, score_of
from benchmarks.visitors import INPUTS, free_port
from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Settings
from models.backend import Backend, LocalBackend, asks
from models.backend.remote import RemoteBackend
from models.engine import DEFAULT_SETTINGS
from models.errors import InputError
from models.loading.store import ModelStore
from models.outputs.encoders import SentimentOutput
from models.registry import Task, find
from models.tasks.text_classification import TextClassificationInput

TAKES_S = 0.2
CALLERS_OF_A_WORKER = 4
COMES_BACK_WITHIN_S = 60.0


class SlowModel(FastModel):
    """The fast model, slowed down to 200 ms for each call, one call at a time."""

    inputs_type = TextClassificationInput  # type: ignore[assignment]

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def answer(self, inputs: Any) -> SentimentOutput:
        """The answer, after 200 ms."""
        with self._turn:
            time.sleep(TAKES_S)
        return super().answer(inputs)


class SlowStore(ModelStore):
    """A store that has only the slow model."""

    def __init__(self) -> None:
        super().__init__(engine=DEFAULT_SETTINGS)
        self._model = SlowModel()

    def load(self, *_checkpoint: Any, **_progress: Any) -> Any:
        """Return the slow model, whatever the checkpoint."""
        return self._model


@dataclass(frozen=True)
class Found:
    """The result: milliseconds, answers a second of one worker and of four, and seconds until two answered again.

    Of the calls around the kill, `answers` were answered, `sentences` failed with a sentence for the visitor, and
    `other` ended in anything else or in another text's answer.
    """

    sentiment_here_ms: float
    sentiment_in_worker_ms: float
    added_an_answer_ms: float
    tokens: int
    completion_here_ms: float
    completion_in_worker_ms: float
    added_a_token_ms: float
    answers_a_second_of_1: float
    answers_a_second_of_4: float
    growth: float
    workers_back_s: float
    answers: int
    sentences: int
    other: int

    @property
    def is_met(self) -> bool:
        """Whether each figure is within its limit."""
        cheap = self.added_an_answer_ms <= 15 and self.added_a_token_ms <= 1.3
        return cheap and self.growth >= 3.4 and self.workers_back_s <= 15 and self.answers > 0 and not self.other


@contextmanager
def ray_serve() -> Iterator[Callable[..., RemoteBackend]]:
    """Run Ray Serve; yield a function that deploys `count` workers of a store and returns their backend."""
    import ray
    from ray import serve

    from models.backend.ray_serve import deploy

    # A folder of our own can be deleted whole; its name is short, as the length of a socket's path is limited.
    folder, port = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), free_port()
    ray.init(include_dashboard=False, log_to_driver=False, num_cpus=4, _temp_dir=folder)
    serve.start(http_options={"host": "127.0.0.1", "port": port, "request_timeout_s": None})

    def workers(count: int, store: Callable[[], ModelStore]) -> RemoteBackend:
        # Ray counts half a CPU for each worker, so that four fit on any machine.
        deploy(count, 0, CALLERS_OF_A_WORKER, cpus=0.5, gpus=0, store=store)
        return RemoteBackend(f"http://127.0.0.1:{port}")

    try:
        yield workers
    finally:
        serve.shutdown()  # type: ignore[no-untyped-call]
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def new_store() -> ModelStore:
    """A model store with the app's default settings."""
    return ModelStore(engine=DEFAULT_SETTINGS)


def in_turns(times: int, *asked: Callable[[], Any]) -> list[float]:
    """The median milliseconds of each callable, measured in turns."""
    taken: list[list[float]] = [[] for _ in asked]
    for _ in range(times + 2):
        for each, milliseconds in zip(asked, taken, strict=True):
            began = time.perf_counter()
            each()
            milliseconds.append((time.perf_counter() - began) * 1e3)
    # The first two calls load models and open connections.
    return [statistics.median(each[2:]) for each in taken]


def cost(remote: Backend, times: int) -> tuple[list[float], list[float], int]:
    """Milliseconds of an answer and of a completion, each here and in a worker, and the completion's tokens."""
    here, there = (
        DemoService(Settings(), each, SessionLog("sqlite://")) for each in (LocalBackend(new_store()), remote)
    )
    answers = in_turns(
        times, *(lambda each=each: each.answer(Task.SENTIMENT, dict(INPUTS["sentiment"])) for each in (here, there))
    )

    def write(service: DemoService) -> int:
        return sum(1 for _ in service.stream(service.new_session(), dict(INPUTS["completion"])))

    written = in_turns(times // 5, *(lambda each=each: write(each) for each in (here, there)))
    return answers, written, write(here)


def ask(remote: Backend, text: str) -> bool:
    """Whether the answer is that to `text`; raises the error that the page would show."""
    found = remote.ask(asks.answer, find("", Task.SENTIMENT), Task.SENTIMENT, TextClassificationInput(text))
    return isinstance(found, SentimentOutput) and abs(found.scores[1].score - score_of(text)) < 1e-9


def answers_a_second(remote: Backend, seconds: float, callers: int = 4 * CALLERS_OF_A_WORKER) -> float:
    """Answers per second to `callers` that call again as soon as they are answered, after a warm-up of all workers."""
    begins = time.monotonic() + max(3.0, seconds / 5)
    ends = begins + seconds

    def call(caller: int) -> int:
        answered = 0
        while (now := time.monotonic()) < ends:
            if not ask(remote, f"Film {now} of caller {caller}."):
                raise RuntimeError("an answer to another caller's text")
            answered += begins <= time.monotonic() < ends
        return answered

    with ThreadPoolExecutor(callers) as threads:
        return sum(threads.map(call, range(callers))) / seconds


def replicas() -> list[psutil.Process]:
    """The processes of the workers that this process has started."""
    found = []
    for each in psutil.Process().children(recursive=True):
        # A process that has ended meanwhile has no command line.
        with suppress(psutil.Error):
            found += [each] if "ServeReplica" in "".join(each.cmdline()[:1]) else []
    return found


def kill_one(remote: Backend, count: int) -> tuple[float, Counter[str]]:
    """Seconds until `count` workers answer again after one was killed, and how calls in that time ended."""
    ended, came = threading.Event(), Counter[str]()

    def call(caller: int) -> None:
        while not ended.is_set():
            try:
                came["answers" if ask(remote, f"Film {time.monotonic()} of caller {caller}.") else "other"] += 1
            except InputError:
                came["sentences"] += 1
            except Exception as error:
                print(repr(error), file=sys.stderr)
                came["other"] += 1

    with ThreadPoolExecutor(count * CALLERS_OF_A_WORKER) as threads:
        calls = [threads.submit(call, caller) for caller in range(count * CALLERS_OF_A_WORKER)]
        try:
            killed, *_ = replicas()
            began = time.monotonic()
            killed.kill()
            while not are_there(count, killed.pid) and time.monotonic() < began + COMES_BACK_WITHIN_S:
                time.sleep(0.1)
            back_s = time.monotonic() - began
        finally:
            ended.set()
        for each in calls:
            each.result()
    return back_s, came


def are_there(count: int, killed: int) -> bool:
    """Whether Ray Serve has `count` workers running, not counting the one that was killed."""
    from ray import serve

    states = serve.status().applications["models"].deployments["Replica"].replica_states
    pids = {each.pid for each in replicas()}
    running = sum(number for state, number in states.items() if state == "RUNNING")
    return killed not in pids and len(pids) >= count and running == count


def measure(times: int, seconds: float) -> Found:
    """Start Ray, and measure overhead, throughput and recovery."""
    with ray_serve() as workers:
        answers, written, tokens = cost(workers(1, new_store), times)
        print("measured what an answer costs", file=sys.stderr)
        growth = [answers_a_second(workers(count, SlowStore), seconds) for count in (1, 4)]
        print("measured how workers grow", file=sys.stderr)
        back_s, came = kill_one(workers(2, SlowStore), 2)
    return Found(
        sentiment_here_ms=round(answers[0], 2),
        sentiment_in_worker_ms=round(answers[1], 2),
        added_an_answer_ms=round(answers[1] - answers[0], 2),
        tokens=tokens,
        completion_here_ms=round(written[0], 1),
        completion_in_worker_ms=round(written[1], 1),
        added_a_token_ms=round((written[1] - written[0]) / tokens, 2),
        answers_a_second_of_1=round(growth[0], 2),
        answers_a_second_of_4=round(growth[1], 2),
        growth=round(growth[1] / growth[0], 2),
        workers_back_s=round(back_s, 1),
        answers=came["answers"],
        sentences=came["sentences"],
        other=came["other"],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the result as JSON; the exit status is 1 if a figure is outside its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="how often an answer's cost is measured (100)")
    parser.add_argument("--seconds", type=float, default=20, help="for how long one worker is asked, and four (20)")
    asked = parser.parse_args(arguments)
    found = measure(asked.times, asked.seconds)
    print(json.dumps(asdict(found), indent=2))
    sys.exit(not found.is_met)


if __name__ == "__main__":
    main()
