"""Recent answers in memory, so that the same question asked again is answered at once.

A session is told only what it was told before: an answer that came at once for everybody would say that somebody else
had asked the same.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from demo.attempt import Finished
from models.tasks import Task

MOST_HELD = 256
HELD_FOR = timedelta(hours=1)


@dataclass(frozen=True)
class Question:
    """All that an answer depends on, and the session that asked."""

    session_id: str
    task: Task
    checkpoint: str
    fields: tuple[tuple[str, Any], ...]


def question_of(session_id: str, task: Task, checkpoint: str, fields: Mapping[str, Any]) -> Question:
    """The question that `fields`, checked and clean, are."""
    return Question(session_id, task, checkpoint, tuple(sorted(fields.items())))


class RecentAnswers:
    """Finished runs by their question, for an hour and at most `most` of them; safe to use from many threads."""

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self._held: OrderedDict[Question, Finished] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Question) -> Finished | None:
        """How this session was answered when it last asked that."""
        with self._lock:
            finished = self._held.get(question)
            if finished is None:
                return None
            if datetime.now(UTC) - finished.run.created_utc > HELD_FOR:
                del self._held[question]
                return None
            self._held.move_to_end(question)
            return finished

    def put(self, question: Question, finished: Finished) -> None:
        """Hold an answer."""
        with self._lock:
            self._held[question] = finished
            self._held.move_to_end(question)
            if len(self._held) > self._most:
                self._held.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """Hold nothing of this session any more."""
        with self._lock:
            for question in [question for question in self._held if question.session_id == session_id]:
                del self._held[question]
