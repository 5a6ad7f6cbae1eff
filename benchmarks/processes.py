"""Rows for a whole process: how soon its first page and its first answer come, and what it holds."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.inputs import INPUTS
from benchmarks.work import Sides, Work

ROOT = Path(__file__).resolve().parents[1]
MEMORY_MB = 650
FIRST_ANSWER_S = 1.0
OUR_PAGE = [sys.executable, "app.py"]


def first_page() -> Sides:
    """From starting the process to the first page, against a one-line Gradio app."""
    one_line = "import gradio; gradio.Interface(lambda text: text, 'text', 'text').launch(quiet=True)"
    while True:
        yield until_first_page([sys.executable, "-c", one_line]), until_first_page(OUR_PAGE)


def until_first_page(command: list[str]) -> float:
    """Seconds from starting `command` until its page answers with 200."""
    began = time.perf_counter()
    with started(command):
        return time.perf_counter() - began


def first_answer() -> Sides:
    """Seconds from the first page to the answer to a call made at once, against what they may be."""
    (text,) = INPUTS["fill_mask"].values()
    while True:
        with started(OUR_PAGE) as address:
            began = time.perf_counter()
            call = urllib.request.Request(  # noqa: S310
                f"{address}gradio_api/call/fill_mask",
                json.dumps({"data": [text, 5, "", ""]}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(call, timeout=60) as begun:  # noqa: S310
                event = json.load(begun)["event_id"]
            with urllib.request.urlopen(f"{call.full_url}/{event}", timeout=60) as told:  # noqa: S310
                if b"event: complete" not in told.read():
                    raise RuntimeError("the first call was not answered")
            yield FIRST_ANSWER_S, time.perf_counter() - began


@contextmanager
def started(command: list[str], **settings: str) -> Iterator[str]:
    """The address of the page that `command` serves under `settings`, once it is there; it is killed afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "CLEARHEAD_DATABASE_URL": f"sqlite:///{folder}/clearhead.db",
            **settings,
        }
        server = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            while not answers(address):
                if server.poll() is not None:
                    raise RuntimeError(f"{command} ended: {server.stderr.read().decode() if server.stderr else ''}")
                time.sleep(0.01)
            yield address
        finally:
            server.kill()
            server.wait()


def answers(address: str) -> bool:
    """Whether the page at `address` is there."""
    try:
        with urllib.request.urlopen(address, timeout=60) as page:  # noqa: S310
            return bool(page.status == 200)
    except OSError:
        return False


def memory() -> Sides:
    """The resident memory of a process that has loaded and used all bundled models, against what it may be."""
    code = (
        "import json, psutil\n"
        "from models.registry import find\n"
        "from models.engine.choice import DEFAULT_SETTINGS\n"
        "from models.loading.store import ModelStore\n"
        "store = ModelStore(engine=DEFAULT_SETTINGS)\n"
        f"for task, fields in json.loads({json.dumps(json.dumps(INPUTS))}).items(): store.load(find(task))(**fields)\n"
        "print(psutil.Process().memory_info().rss)"
    )
    while True:
        finished = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
        )
        yield MEMORY_MB, int(finished.stdout) / 1e6


WORKS = (
    Work("first page", "s", 1.5, first_page, runs=15),
    Work("first answer", "s", 1.0, first_answer, runs=15),
    Work("memory of the five bundled models", "MB", 1.0, memory, runs=1),
)
