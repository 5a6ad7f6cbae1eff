"""One running app with narrow limits for all tests between the network and the service."""

from collections.abc import Iterator

import pytest

from tests.api.server import Server, serving

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
