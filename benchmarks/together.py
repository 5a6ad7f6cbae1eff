"""Rows for visitors who come at once: the time an answer, against the same questions asked one after the other."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.inputs import INPUTS
from benchmarks.work import Sides, Work, milliseconds
from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Settings
from models.engine.choice import DEFAULT_SETTINGS
from models.loading.store import ModelStore
from models.registry import Task

VISITORS = 8
SHORT: dict[Task, tuple[str, str]] = {
    Task.FILL_MASK: ("text", str(INPUTS["fill_mask"]["text"])),
    Task.SENTIMENT: ("text", str(INPUTS["sentiment"]["text"])),
    Task.QUESTION_ANSWERING: ("context", "Ada Quist climbed the stairs every evening and lit the lamp."),
    Task.TRANSLATION: ("text", str(INPUTS["translation"]["text"])),
    Task.COMPLETION: ("prompt", str(INPUTS["completion"]["prompt"])),
}
"""For each task the field that gets a number, so that nothing is asked twice, and a short text for it."""

TURNS = {Task.TRANSLATION: 2, Task.COMPLETION: 2}
"""How many answers each visitor waits for in one measurement, `_TURNS` where nothing is said."""

_TURNS = 10


def answers(task: Task, visitors: int) -> Callable[[], Sides]:
    """Milliseconds for an answer: one visitor after the other, and all at once."""

    def sides() -> Sides:
        with _service() as service:
            numbers, turns = count(1000), TURNS.get(task, _TURNS)
            field, text = SHORT[task]

            def visit(session: str) -> None:
                for _ in range(turns):
                    fields = INPUTS[task.endpoint] | {field: f"{text} {next(numbers)}"}
                    service.run(session, task, dict(fields))

            def in_a_row() -> None:
                for _ in range(visitors):
                    visit(service.new_session())

            def at_once() -> None:
                threads = [threading.Thread(target=visit, args=(service.new_session(),)) for _ in range(visitors)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            def an_answer(way: Callable[[], None]) -> float:
                return milliseconds(way) / (visitors * turns)

            while True:
                yield an_answer(in_a_row), an_answer(at_once)
                first = an_answer(at_once)
                yield an_answer(in_a_row), first

    return sides


@contextmanager
def _service() -> Iterator[DemoService]:
    with tempfile.TemporaryDirectory() as folder:
        yield DemoService(
            Settings(), ModelStore(engine=DEFAULT_SETTINGS), SessionLog(f"sqlite:///{Path(folder) / 'runs.db'}")
        )


WORKS = tuple(
    Work(f"{task.endpoint.replace('_', ' ')}, {VISITORS} visitors at once", "ms", 1.0, answers(task, VISITORS), runs=11)
    for task in Task
)
