"""The five tasks, by the Hub's task names and by the names of their endpoints."""

from enum import StrEnum


class Task(StrEnum):
    """A task; its value is the Hub's name for it (https://huggingface.co/tasks)."""

    FILL_MASK = "fill-mask"
    SENTIMENT = "text-classification"
    QUESTION_ANSWERING = "question-answering"
    TRANSLATION = "translation"
    COMPLETION = "text-generation"

    @property
    def endpoint(self) -> str:
        """The task's name in addresses and in Python: `fill_mask`, `sentiment`, …"""
        return self.name.lower()

    @property
    def writes(self) -> bool:
        """Whether its models write a text of their own, token by token."""
        return self in (Task.TRANSLATION, Task.COMPLETION)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that its models have, the one to show first in front."""
        if self is Task.TRANSLATION:
            return ("cross", "encoder", "decoder")
        return ("decoder",) if self.writes else ("encoder",)

    @classmethod
    def named(cls, name: str) -> "Task":
        """The task of an endpoint name or a Hub name; raises `KeyError` for anything else."""
        for task in cls:
            if name in (task.value, task.endpoint):
                return task
        raise KeyError(name)
