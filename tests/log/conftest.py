"""New, empty databases of every kind that the log may be in."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.postgres import Postgres, find_server, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    programs = find_server()
    if programs is None:
        pytest.skip("there is no PostgreSQL server here")
    with running_postgres(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.sqlite3"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database(f"test-{secrets.token_hex(6)}")
