"""A service over a real database and a model that answers by script."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from demo.log.session_log import SessionLog
from demo.runs import DemoService
from demo.settings import Limits, Settings
from models.backend import LocalBackend
from models.loading.store import ModelStore
from models.outputs.base import TaskOutput
from tests.service.scripted import Build, ScriptedModel, ScriptedStore, TextInput, sentiment


@pytest.fixture
def runs(tmp_path: Path) -> SessionLog:
    return SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3")


@pytest.fixture(scope="session")
def service(store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> DemoService:
    """The service over the bundled models, with a log of its own."""
    folder = tmp_path_factory.mktemp("service")
    return DemoService(Settings(), LocalBackend(store), SessionLog(f"sqlite:///{folder}/runs.sqlite3"))


@pytest.fixture
def build(runs: SessionLog) -> Build:
    def built(
        script: Callable[[Any], TaskOutput] = sentiment, inputs_type: type = TextInput, runs: SessionLog = runs
    ) -> DemoService:
        store = ScriptedStore(ScriptedModel(script, inputs_type))
        return DemoService(Settings(limits=Limits(text=1_000)), LocalBackend(cast(ModelStore, store)), runs)

    return built
