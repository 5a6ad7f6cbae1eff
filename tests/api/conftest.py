"""One running app for all tests of the endpoints, and a caller with a session of its own for each."""

from collections.abc import Iterator

import pytest
from gradio_client import Client

from tests.api.server import Server, serving
from tests.web.calls import until


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("app")) as running:
        yield running


@pytest.fixture(scope="session")
def caller(server: Server) -> Client:
    return Client(server.url, verbose=False, analytics_enabled=False)


@pytest.fixture
def client(caller: Client) -> Client:
    """The caller with a new session; a new client would first read the page's configuration, slower than most calls."""
    # While the stream of the last session is open, the client would look there for the new session's answers.
    until(lambda: not caller.stream_open, "the stream of the session before never ended")
    caller.reset_session()
    return caller
