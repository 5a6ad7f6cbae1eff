"""Tiny random models, each saved and wrapped once, and the bundled ones, each loaded once."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from models.engine import AUTO, EngineSettings
from models.loading import prepared
from models.loading.assembly import load_network, wrap
from models.loading.description import save_description
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint, Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import save_tiny
from tests.models.inside_cases import TEXTS

TinyModel = Callable[..., AnyTaskModel]
BundledModel = Callable[[str], AnyTaskModel]


def tiny_checkpoint(model_type: str, task: Task) -> Checkpoint:
    """The registry entry that a tiny model would have."""
    return Checkpoint(f"tiny-{model_type}", task, "Tiny", model_type, "CC0-1.0", 1, ("en",), 1, "Knows nothing.")


IN_A_CHILD = prepared._run
"""The function that prepares a model in a process of its own, as the app does."""


def in_this_process(command: list[str]) -> None:
    """Prepare a model in this process; one process for each tiny model would take longer than all tests."""
    from models.engine.convert import save_graphs

    task, weights, to = Task(command[3]), Path(command[4]), Path(command[5])
    trunk = Path(command[command.index("--trunk") + 1]) if "--trunk" in command else None
    save_description(weights, to)
    save_graphs(load_network(task, weights, trunk), to, half="--half" in command)


@pytest.fixture(scope="session", autouse=True)
def prepared_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "_run", in_this_process)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Two threads make a network of ten thousand parameters slower."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Task, int], Path]:
    """The saved folder of a tiny random model of an architecture, for a task."""

    @cache
    def folder(model_type: str, task: Task, seed: int) -> Path:
        return save_tiny(model_type, task, tmp_path_factory.mktemp(f"{model_type}-{task.endpoint}"), seed)

    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Callable[[str, Task, int], Path]) -> TinyModel:
    """The tiny model of an architecture, for a task and an engine; it stands in for the registry entry `checkpoint`."""

    @cache
    def model(
        model_type: str, task: Task, seed: int = 0, checkpoint: Checkpoint | None = None, engine: str = AUTO
    ) -> AnyTaskModel:
        folder = tiny_folder(model_type, task, seed)
        return wrap(checkpoint or tiny_checkpoint(model_type, task), folder, "0" * 40, EngineSettings(engine))

    return model


@pytest.fixture(scope="session")
def bundled(store: ModelStore) -> BundledModel:
    """A bundled model, by name."""
    return lambda name: store.load(REGISTRY[name])


@pytest.fixture
def looked_at(request: pytest.FixtureRequest, tiny: TinyModel, bundled: BundledModel) -> tuple[AnyTaskModel, str, str]:
    """The model, the text and the kind of attention of a case of the tab Inside."""
    match request.param:
        case Task() as task, architecture, kind:
            return tiny(architecture, task), TEXTS[task], kind
        case name, kind, text:
            return bundled(name), text, kind
