"""The app with its models in another process: what it imports, its answers, and its sentence when that is down."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from models.registry import Task, checkpoints_for
from tests.api.server import ROOT, Server, free_port, serving
from tests.api.test_endpoints import INPUTS
from tests.web.calls import PATIENCE_S, until

_ASKED = (Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.TRANSLATION, Task.COMPLETION, Task.TEACH)
_WORKER = ["-m", "uvicorn", "--factory", "models.backend.worker:create_worker", "--log-level", "error", "--port"]


@contextmanager
def worker(port: int) -> Iterator[None]:
    """A worker with the bundled models, as a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "api" / "offline")}
    process = subprocess.Popen([sys.executable, *_WORKER, str(port)], cwd=ROOT, env=environment)  # noqa: S603
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "the worker did not start")
        yield
    finally:
        process.kill()
        process.wait()


def answers(url: str, status: int = 200) -> bool:
    """Whether a call is answered by this status."""
    try:
        return httpx.get(url, timeout=PATIENCE_S).status_code == status
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def page(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page"), CLEARHEAD_BACKEND=f"ray://127.0.0.1:{port}") as running:
        yield running


@pytest.fixture(scope="module")
def client(page: Server) -> Client:
    return Client(page.url, verbose=False, analytics_enabled=False)


def libraries_of(server: Server) -> set[str]:
    """The names of the libraries that a process has in its memory (Linux)."""
    maps = Path(f"/proc/{server.process.pid}/maps")
    if not maps.exists():
        pytest.skip("this system does not tell which libraries a process has loaded")
    return {Path(line.split()[-1]).name for line in maps.read_text().splitlines() if ".so" in line}


def test_answers_and_looks_come_from_the_worker_and_the_page_loads_no_network_library(
    page: Server, client: Client, port: int
) -> None:
    with worker(port):
        for task in _ASKED:
            answer = client.predict(api_name=f"/{task.endpoint}", **INPUTS[task])
            assert answer["checkpoint"]["name"] == checkpoints_for(task)[0].name
            if task.kinds:
                seen = client.predict(api_name="/attention", run_id=answer["run_id"])
                assert seen["weights"]
        assert client.predict(api_name="/inside", text="The dog sleeps.", checkpoint="clearhead-minilm")["tokens"]
        ready = httpx.get(f"{page.url}readyz")
        assert (ready.status_code, ready.json()) == (200, {"database": True, "model": True})
    loaded = {name for name in libraries_of(page) if "torch" in name or "openvino" in name}
    assert not loaded


def test_without_a_worker_visitors_read_a_sentence_and_the_proxy_is_told(
    page: Server, client: Client, port: int
) -> None:
    with pytest.raises(AppError, match="The models of this page cannot be reached at the moment"):
        client.predict(api_name="/sentiment", text="A film that nobody has read about yet.")
    run = client.predict(api_name="/session_runs")[0]
    assert run["error"].startswith("The models of this page cannot be reached")
    assert run["inputs"] == {"text": "A film that nobody has read about yet."}

    until(lambda: answers(f"{page.url}readyz", 503), "the page counted as ready")
    assert httpx.get(f"{page.url}readyz").json() == {"database": True, "model": False}
    with worker(port):
        answer = client.predict(api_name="/sentiment", text="A film that nobody has read about yet.")
        assert answer["label"]
        until(lambda: answers(f"{page.url}readyz"), "the page never was ready again")
