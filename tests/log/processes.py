"""Other Python processes for tests of the log, such as one that locks the database."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python process that runs `code`, with pipes for its input and output."""
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
    """Run `code` to its end in a Python process, and return what it printed."""
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
    """Let another process hold the write lock of the SQLite database at `path`."""
    process = start_python(_LOCK, str(path))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield
    finally:
        process.communicate("")
