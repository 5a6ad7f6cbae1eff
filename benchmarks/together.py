"""Rows for visitors who wait for one model together: the service as it is, against itself with no pass shared."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path

from benchmarks.inputs import INPUTS
from benchmarks.work import Sides, Work, milliseconds
from demo.service import DemoService
from demo.sessions.database import open_runs
from demo.settings import Settings
from models.batching import alone
from models.loading import ModelStore
from models.precision import AUTO
from models.tasks import Task

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

Company = Callable[[], AbstractContextManager[None]]


def answers(task: Task, visitors: int) -> Callable[[], Sides]:
    """Milliseconds for an answer, all visitors together: without shared passes, and with them."""

    def sides() -> Sides:
        with _service() as service:
            numbers, turns = count(1000), TURNS.get(task, _TURNS)
            field, text = SHORT[task]

            def visit(session: str, company: Company) -> None:
                with company():
                    for _ in range(turns):
                        fields = INPUTS[task.endpoint] | {field: f"{text} {next(numbers)}"}
                        service.run(session, task, dict(fields))

            def together(company: Company) -> float:
                threads = [
                    threading.Thread(target=visit, args=(service.new_session(), company)) for _ in range(visitors)
                ]

                def all_at_once() -> None:
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()

                return milliseconds(all_at_once) / (visitors * turns)

            while True:
                yield together(alone), together(nullcontext)
                first = together(nullcontext)
                yield together(alone), first

    return sides


@contextmanager
def _service() -> Iterator[DemoService]:
    with tempfile.TemporaryDirectory() as folder:
        yield DemoService(Settings(), ModelStore(precision=AUTO), open_runs(f"sqlite:///{Path(folder) / 'runs.db'}"))


WORKS = tuple(
    Work(f"{task.endpoint.replace('_', ' ')}, {who}, shared passes", "ms", needs, answers(task, visitors), runs=11)
    for task in Task
    for who, visitors, needs in ((f"{VISITORS} visitors", VISITORS, 1 / 2), ("one visitor", 1, 1.1))
)
