"""Load a model by the name of its checkpoint, and keep loaded models in a cache bounded by bytes."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, cast

from models.cancellation import LONGEST_LOAD_S, BoundedLock
from models.engine import EXACT, FLOAT32, EngineSettings
from models.errors import CheckpointUnavailable
from models.loading import Progress, import_looks, silent
from models.registry import CHARACTERS, TINY, Checkpoint, Task, find, task_called
from models.wording import Sentence

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel


class ModelStore:
    """Loaded models, of which the least recently used are dropped when together they hold more than `max_bytes`.

    A model that alone would exceed the bound is refused before anything is downloaded or loaded. `engine` says how
    answers are computed. Safe to call from many threads: the first caller of a checkpoint loads it, and only callers of
    the same one wait. If that load fails, the next of them tries again.
    """

    def __init__(self, max_bytes: int = 3_000_000_000, engine: EngineSettings = EXACT) -> None:
        self.max_bytes = max_bytes
        self.settings = engine
        self._models: OrderedDict[str, AnyTaskModel] = OrderedDict()
        self._lock = threading.Lock()
        self._found_too_large: dict[str, int] = {}
        self._loading: dict[str, BoundedLock] = {}

    def load(self, checkpoint: Checkpoint, progress: Progress = silent, task: Task | None = None) -> "AnyTaskModel":
        """The model of `checkpoint`, loaded if need be; raises `CheckpointUnavailable`.

        It answers `task`, or the checkpoint's own task where none is named. All tasks share one copy of the weights.
        """
        if checkpoint is CHARACTERS:
            from models.tasks.cells import Cells

            return cast("AnyTaskModel", Cells(checkpoint))
        if checkpoint is TINY:
            import_looks()
            from models.tasks.tiny_model import TinyModel

            return cast("AnyTaskModel", TinyModel(checkpoint))
        model = self._load(checkpoint, progress)
        if task is None or task is checkpoint.task:
            return model
        from models.loading.assembly import as_task

        wrapped = as_task(model, task)
        for name, other in wrapped.asks.items():
            setattr(wrapped, name, self._load(find("", other), progress))
        return wrapped

    def _load(self, checkpoint: Checkpoint, progress: Progress) -> "AnyTaskModel":
        with self._lock:
            turn = self._loading.setdefault(checkpoint.name, BoundedLock(LONGEST_LOAD_S))
        with turn:
            with self._lock:
                if checkpoint.name in self._models:
                    self._models.move_to_end(checkpoint.name)
                    # Other models may have grown: a look inside loads weights in float32.
                    self._evict()
                    return self._models[checkpoint.name]
            progress(0.0, Sentence("Loading {model}", model=checkpoint.title))
            # Imported for the first model, since the first page needs none.
            from models.loading.assembly import assemble

            # Weights for answers, and in float32 those for looks inside, which nearly every run takes.
            expected = ((4 if self.settings.precision == FLOAT32 else 2) + 4) * checkpoint.parameters
            self._require_room(checkpoint, max(expected, self._found_too_large.get(checkpoint.name, 0)))
            model = assemble(checkpoint, progress, self.settings)
            size = model.held_bytes
            if size > self.max_bytes:
                self._found_too_large[checkpoint.name] = size
            self._require_room(checkpoint, size)
            with self._lock:
                self._models[checkpoint.name] = model
                self._evict()
            return model

    def is_loaded(self, checkpoint: Checkpoint) -> bool:
        """Whether `checkpoint` would answer without being loaded first."""
        with self._lock:
            return checkpoint.name in self._models

    @property
    def loaded_bytes(self) -> int:
        """The number of bytes that the loaded models hold."""
        return sum(model.held_bytes for model in list(self._models.values()))

    def _require_room(self, checkpoint: Checkpoint, size: int) -> None:
        """Raise `CheckpointUnavailable` for a model that does not fit even alone."""
        if size > self.max_bytes:
            raise CheckpointUnavailable(
                Sentence(
                    "{model} takes {size:,.0f} MB of memory, and this page has {room:,.0f} MB for models. "
                    "Please choose another.",
                    model=checkpoint.title,
                    size=size / 1000000.0,
                    room=self.max_bytes / 1000000.0,
                )
            )

    def _evict(self) -> None:
        while len(self._models) > 1 and self.loaded_bytes > self.max_bytes:
            self._models.popitem(last=False)


_default = ModelStore()


def load_model(name: str) -> "AnyTaskModel":
    """The model of a checkpoint, or of a task's default checkpoint: `load_model("sentiment")(text="…")`."""
    return _default.load(find(name), task=task_called(name))
