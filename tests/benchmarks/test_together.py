"""The rows for visitors who wait together ask nothing twice, and differ only in whether passes are shared."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks import together
from demo.caches import Origin, SessionCache
from demo.sessions.records import Run
from models.batching import Shared
from models.tasks import Task


@pytest.mark.parametrize("task", [Task.SENTIMENT, Task.COMPLETION])
def test_every_text_is_new_and_only_one_side_shares(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: Counter[int] = Counter()
    questions: list[Any] = []
    lead, get = Shared._run, SessionCache.get

    def counted(self: Shared[Any, Any], batch: Sequence[Any]) -> None:
        # Runs that are written to the log share that, too.
        sizes[len(batch)] += not isinstance(batch[0].item, Run)
        lead(self, batch)

    def asked(self: SessionCache, origin: Origin, question: Any) -> Any:
        found = get(self, origin, question)
        assert found is None
        questions.append((origin.sessions, question))
        return found

    monkeypatch.setattr(Shared, "_run", counted)
    monkeypatch.setattr(SessionCache, "get", asked)
    baseline, ours = next(together.answers(task, 4)())
    assert baseline > 0 and ours > 0
    turns = together.TURNS.get(task, together._TURNS)
    assert len(set(questions)) == len(questions) == 2 * 4 * turns
    # Each of the visitors who share made passes of the model, and some of them together.
    assert max(size for size, many in sizes.items() if many) > 1
    assert sum(size * many for size, many in sizes.items()) < 2 * 4 * turns * (1 if task is Task.SENTIMENT else 40)
