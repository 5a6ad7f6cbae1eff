"""The rows for visitors who come at once ask nothing twice."""

from typing import Any

import pytest

from benchmarks import together
from demo.caches import Origin, SessionCache
from models.registry import Task


@pytest.mark.parametrize("task", [Task.SENTIMENT, Task.COMPLETION])
def test_every_text_is_new(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[Any] = []
    get = SessionCache.get

    def asked(self: SessionCache, origin: Origin, question: Any) -> Any:
        found = get(self, origin, question)
        assert found is None
        questions.append((origin.sessions, question))
        return found

    monkeypatch.setattr(SessionCache, "get", asked)
    baseline, ours = next(together.answers(task, 4)())
    assert baseline > 0 and ours > 0
    turns = together.TURNS.get(task, together._TURNS)
    assert len(set(questions)) == len(questions) == 2 * 4 * turns
