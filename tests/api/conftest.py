"""One running app for all tests of the endpoints, and a caller with a session of its own for each."""

from collections.abc import Iterator

import pytest
from gradio_client import Client

from tests.api.server import Server, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("app")) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Client:
    return Client(server.url, verbose=False, analytics_enabled=False)
