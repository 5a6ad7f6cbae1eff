"""Settings of every test (no network, no telemetry, one thread), and how tests are spread over workers."""

import os
from pathlib import Path
from typing import Any

import pytest

# Failed asserts in the contract then show what they compared, as in tests.
pytest.register_assert_rewrite("tests.models.contract")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# No other host is called, so no certificate is needed: reading all of a machine's takes 50 ms of every call.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# Tiny models are slower on several threads than on one.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def store() -> Any:
    """The bundled models, each loaded once for all tests that ask for it."""
    from models.loading.store import ModelStore  # imported once the environment is set

    return ModelStore()


@pytest.fixture(autouse=True)
def database_of_the_test(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a database of its own, so that none writes into the developer's log."""
    monkeypatch.setenv("CLEARHEAD_DATABASE_URL", f"sqlite:///{os.fspath(tmp_path)}/clearhead.db")


ROOMS = ("browser", "api", "web", "models", "training", "log", "service")
"""The folders of tests that take longest and start first; the others fill what is left of each worker's time."""

BROWSED = sorted(path.name for path in Path(__file__).parent.glob("browser/test_*.py"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {room: number for number, room in enumerate(ROOMS)}
    items.sort(key=lambda item: place.get(item.path.parent.name, len(ROOMS)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests that share a server or models in one worker; every other would start or load them again."""
    from xdist.scheduler import LoadScopeScheduling

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            _, room, *rest = file.split("/")
            if room == "browser":
                # With all browser tests, one worker would end long after the others.
                return f"{room} {BROWSED.index(rest[0]) % 2}"
            return room if room in ("api", "web") else file

    return ByServer(config, log)
