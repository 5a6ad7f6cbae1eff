"""Backends: one interface of the page to models in this process or in workers on other machines."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from models.backend import asks
from models.loading import Progress, silent
from models.loading.store import ModelStore
from models.registry import Checkpoint, Task

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel

Asked = ParamSpec("Asked")
Result = TypeVar("Result")

Ask = Callable[Concatenate["AnyTaskModel", Asked], Result]
"""A function of `models.backend.asks`, which takes a loaded model and plain values."""


class Backend(Protocol):
    """The interface to models; safe to call from many threads.

    The arguments and results of an `Ask` are typed values that hold no tensor. Every method raises `InputError`,
    `CheckpointUnavailable` for a checkpoint that cannot be loaded, and `Stopped` once nobody waits for the answer.
    """

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> None:
        """Load the model of `checkpoint` that answers `task`; a worker does so only when it is asked."""

    def ask(
        self,
        ask: Ask[Asked, Result],
        checkpoint: Checkpoint,
        task: Task | None,
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """Call `ask` with the model of `checkpoint` for `task`, or for its own task where that is `None`."""

    def write(self, checkpoint: Checkpoint, task: Task, inputs: Any) -> Generator[Any]:
        """Yield a task's output for typed `inputs` as it grows; closing the generator cancels the computation."""


class LocalBackend:
    """The backend whose models are those of `store`, in this process."""

    def __init__(self, store: ModelStore) -> None:
        self.store = store

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> None:
        """Load the model, unless it is loaded."""
        self.store.load(checkpoint, progress, task)

    def ask(
        self,
        ask: Ask[Asked, Result],
        checkpoint: Checkpoint,
        task: Task | None,
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """Call `ask`; the model is loaded if need be."""
        return ask(self.store.load(checkpoint, silent, task), *arguments, **options)

    def write(self, checkpoint: Checkpoint, task: Task, inputs: Any) -> Generator[Any]:
        """Yield an answer as it grows; the model is loaded if need be."""
        yield from asks.write(self.store.load(checkpoint, silent, task), inputs)
