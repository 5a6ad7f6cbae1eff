"""A file seen from outside says the same to all who look at once."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demo.sessions.database import open_database
from demo.sessions.files import OpenedFile


@pytest.fixture
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_many_threads_at_once_all_find_a_database(tmp_path: Path, threads_take_turns_often: None) -> None:
    path = tmp_path / "runs.sqlite3"
    engine = open_database(f"sqlite:///{path}")
    file = OpenedFile(path)
    try:
        with ThreadPoolExecutor(8) as threads:
            looks = [threads.submit(lambda: [file.is_a_database for _ in range(5_000)]) for _ in range(8)]
            assert all(all(each.result()) for each in looks)
    finally:
        engine.dispose()
        file.close()
