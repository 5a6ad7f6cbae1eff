"""Other processes that the log has to do with."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python that runs `code`, spoken to through its pipes."""
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(code: str, *arguments: str) -> str:
    """What a Python that runs `code` to its end has printed."""
    process = start_python(code, *arguments)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[None]:
    """Nobody else can write to the database at `path`."""
    process = start_python(_LOCK, str(path))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield
    finally:
        process.communicate("")
