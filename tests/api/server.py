"""The real app in a process of its own, with a log of its own."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent.parent
_STARTS_WITHIN_S = 120.0


@dataclass(frozen=True)
class Server:
    """A running app: its address, its process, its database and the file of its output."""

    url: str
    process: subprocess.Popen[bytes]
    database_url: str
    output: Path

    def kill(self) -> None:
        """End the process without a chance to tidy up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def slowed(server: Server) -> Iterator[None]:
    """Let the server work for a tenth of the time only, so that what takes a moment can be interrupted."""
    ended = threading.Event()

    def hold() -> None:
        while not ended.is_set():
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(0.045)
            server.process.send_signal(signal.SIGCONT)
            time.sleep(0.005)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        yield
    finally:
        ended.set()
        holding.join()


@contextmanager
def serving(folder: Path, *, program: Sequence[str] = ("app.py",), **settings: str) -> Iterator[Server]:
    """Run `python app.py`, with its log and output in `folder` and no access to other hosts; yield it once it answers.

    `settings` are further environment variables; `program` is what Python runs instead of `app.py`.
    """
    port = int(settings.get("CLEARHEAD_PORT") or free_port())
    database_url = f"sqlite:///{folder}/runs.sqlite3"
    output = folder / "output.txt"
    environment = os.environ | {
        "CLEARHEAD_DATABASE_URL": database_url,
        "CLEARHEAD_PORT": str(port),
        "CLEARHEAD_HOST": "127.0.0.1",
        "PYTHONPATH": str(Path(__file__).parent / "offline"),
    }
    environment |= settings
    database_url = environment["CLEARHEAD_DATABASE_URL"]
    # The app must find out by itself that it is offline.
    environment.pop("HF_HUB_OFFLINE", None)
    with output.open("wb") as written:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, *program], cwd=ROOT, env=environment, stdout=written, stderr=subprocess.STDOUT
        )
    try:
        url = f"http://127.0.0.1:{port}/"
        _wait_for(url, process, output)
        yield Server(url, process, database_url, output)
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], output: Path) -> None:
    ends = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < ends:
        assert process.poll() is None, output.read_text()
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the app did not answer:\n{output.read_text()}")
