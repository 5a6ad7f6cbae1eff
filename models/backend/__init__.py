"""Where models are: in this process, or in workers on other machines; the page reaches them through one call."""

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
"""One of the functions of `models.backend.asks`: of a loaded model and plain values."""


class Backend(Protocol):
    """Asks models; safe to call from many threads.

    The arguments and results of what is asked are typed values that hold no tensor. Every method raises `InputError`,
    `CheckpointUnavailable` for a checkpoint that cannot be had, and `Stopped` once nobody waits for the answer.
    """

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> None:
        """Load the model of `checkpoint` that answers `task`; a worker does so by itself when it is asked."""

    def ask(
        self,
        ask: Ask[Asked, Result],
        checkpoint: Checkpoint,
        task: Task | None,
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """What `ask` finds out with the model of `checkpoint` for `task`; with `None`, the checkpoint's own."""

    def write(self, checkpoint: Checkpoint, task: Task, inputs: Any) -> Generator[Any]:
        """An answer to typed `inputs`, a task's output as it grows; closing the generator ends it."""


class LocalBackend:
    """Asks the models of `store`, in this process."""

    def __init__(self, store: ModelStore) -> None:
        self.store = store

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> None:
        """Load the model, unless it is there."""
        self.store.load(checkpoint, progress, task)

    def ask(
        self,
        ask: Ask[Asked, Result],
        checkpoint: Checkpoint,
        task: Task | None,
        *arguments: Asked.args,
        **options: Asked.kwargs,
    ) -> Result:
        """What `ask` finds out; the model is loaded if it is not there."""
        return ask(self.store.load(checkpoint, silent, task), *arguments, **options)

    def write(self, checkpoint: Checkpoint, task: Task, inputs: Any) -> Generator[Any]:
        """An answer as it grows; the model is loaded if it is not there."""
        yield from asks.write(self.store.load(checkpoint, silent, task), inputs)
