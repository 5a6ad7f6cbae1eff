"""What every test stands on: no network, no telemetry, one thread."""

import os
from pathlib import Path
from typing import Any

import pytest

# A contract that fails shows what it compared, as tests do.
pytest.register_assert_rewrite("tests.models.contract")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# No other host is asked, so none is trusted: to read all of a machine's certificates takes 50 ms of every call.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# Tiny models are slower on several threads than on one.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def store() -> Any:
    """The bundled models, each loaded once for all tests that ask for it."""
    from models.loading.store import ModelStore  # only now is the environment what it should be

    return ModelStore()


@pytest.fixture(autouse=True)
def database_of_the_test(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes into the log of whoever runs it."""
    monkeypatch.setenv("CLEARHEAD_DATABASE_URL", f"sqlite:///{os.fspath(tmp_path)}/clearhead.db")
