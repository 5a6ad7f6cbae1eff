"""One running app with narrow limits for all tests of the layers between the network and the service."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.server import Server, serving
from tests.web.calls import PATIENCE_S, until
from tests.web.redis_server import Redis, find_redis, running_redis

PASSWORD = "correct horse"  # noqa: S105
QUEUE, AT_ONCE, PER_MINUTE = 10, 3, 40


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        tmp_path_factory.mktemp("web"),
        CLEARHEAD_HOST_PASSWORD=PASSWORD,
        CLEARHEAD_QUEUE=str(QUEUE),
        CLEARHEAD_CONCURRENCY="1",
        CLEARHEAD_RUNS_AT_ONCE=str(AT_ONCE),
        CLEARHEAD_RUNS_PER_MINUTE=str(PER_MINUTE),
        CLEARHEAD_FRAME_ANCESTORS="https://huggingface.co",
        CLEARHEAD_LOG="json",
    ) as running:
        yield running


def line_of(server: Server) -> tuple[int, int]:
    """How many runs wait for a model, and how many are running."""
    said = httpx.get(f"{server.url}metrics", auth=("host", PASSWORD), timeout=PATIENCE_S).text
    found = dict(line.rsplit(" ", 1) for line in said.splitlines() if not line.startswith("#"))
    return int(float(found["clearhead_waiting_runs"])), int(float(found["clearhead_running_runs"]))


@pytest.fixture
def quiet(server: Server) -> Iterator[Server]:
    """The app without waiting or running runs, before and after the test."""
    until(lambda: line_of(server) == (0, 0), "the line never emptied")
    yield server
    until(lambda: line_of(server) == (0, 0), "the line never emptied")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    program = find_redis()
    if program is None:
        pytest.skip("there is no redis-server here")
    with running_redis(program, tmp_path) as server:
        yield server
