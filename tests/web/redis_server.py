"""A Redis server for tests."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.api.server import free_port

_STARTS_WITHIN_S = 30.0


class Redis:
    """A server that keeps nothing on disk; it can be killed, and started again at the same address."""

    def __init__(self, program: str, folder: Path) -> None:
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._command = [program, "--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)  # noqa: S603
        ends = time.monotonic() + _STARTS_WITHIN_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            except OSError:
                assert self._process.poll() is None and time.monotonic() < ends, "Redis did not start"
                time.sleep(0.02)

    def kill(self) -> None:
        """End it without a chance to tidy up; nothing happens where it does not run."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hold(self) -> None:
        """Pause it, so that it accepts connections but answers nothing."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)


def find_redis() -> str | None:
    """The path of the server's program; None if there is none."""
    return shutil.which("redis-server")


@contextmanager
def running_redis(program: str, folder: Path) -> Iterator[Redis]:
    """Run a new, empty server."""
    server = Redis(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
