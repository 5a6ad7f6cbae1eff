"""The server's start, its listening and its end."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from demo.settings import VARIABLES
from demo.web.server import _listener, _Server
from tests.api.server import ROOT, serving
from tests.web.calls import called, outcome


def test_small_parts_of_an_answer_are_sent_at_once() -> None:
    """Otherwise each waits until the visitor's side has confirmed the one before, some 40 ms later."""

    async def nodelay_of_an_answer() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def met(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = _listener("127.0.0.1", [0])
        async with await asyncio.start_server(met, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            try:
                return await found
            finally:
                writer.close()

    assert asyncio.run(nodelay_of_an_answer())


def test_an_end_with_open_pages_is_quiet(tmp_path: Path) -> None:
    """A page holds a heartbeat open for as long as it is shown; nothing of it is an error."""
    with serving(tmp_path) as server:
        with httpx.stream("GET", f"{server.url}gradio_api/heartbeat/abcdefghij", timeout=30) as heartbeat:
            next(heartbeat.iter_lines())
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(timeout=30)
        assert server.output.read_text().splitlines()[1:] == []


def test_an_end_waits_until_what_was_asked_is_fetched(tmp_path: Path) -> None:
    """A run is asked for over one connection and fetched over another; between them there may be none."""
    with serving(tmp_path) as server:
        # The first answer loads the model, which may take longer than a process that ends still lives.
        outcome(server, "sentiment", called(server, "sentiment", ["A quiet film.", ""]))
        call = called(server, "sentiment", ["Is anybody there?", ""])
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        kind, (answer, *_) = outcome(server, "sentiment", call)
        assert kind == "complete" and answer["label"] in ("positive", "negative")
        assert server.process.wait(timeout=30) == -signal.SIGTERM


def test_who_connects_while_it_stops_listening_is_read() -> None:
    """Connections that wait to be accepted would be refused, though their calls were delivered."""

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def asked_in_the_same_moment() -> bytes:
        listener = _listener("127.0.0.1", [0])
        config = uvicorn.Config(answer, interface="asgi3", lifespan="off", log_config=None, http="h11")
        server = _Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup([listener])
        with socket.create_connection(listener.getsockname()) as caller:
            caller.sendall(b"POST /gradio_api/call/sentiment HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n")
            # Nothing has been accepted yet, for that takes a turn of the loop.
            await server.shutdown([listener])
            return caller.recv(1024)

    assert asyncio.run(asked_in_the_same_moment()).startswith(b"HTTP/1.1 503 ")


def ended(folder: Path, **settings: str) -> str:
    """What `python app.py` says of settings that it ends with."""
    mine = {"CLEARHEAD_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite3", "CLEARHEAD_PORT": "7860"}
    environment = os.environ | mine | settings
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"CLEARHEAD_QUEUE": "many"}, "CLEARHEAD_QUEUE must be a whole number from 1, not 'many'."),
        ({"CLEARHEAD_DATABASE_URL": "nonsense"}, "CLEARHEAD_DATABASE_URL is no SQLAlchemy URL; "),
        ({"CLEARHEAD_LIMITS_URL": "redis://localhost:6379/0"}, "CLEARHEAD_LIMITS_URL needs CLEARHEAD_SECRET, "),
        ({"CLEARHEAD_HOST": "192.0.2.1"}, "This page cannot listen at 192.0.2.1 on port 7860: "),
    ],
)
def test_what_the_host_must_mend_is_one_sentence_in_the_log(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    (line,) = ended(tmp_path, **settings).splitlines()
    assert re.match(r"\d\d:\d\d:\d\d critical clearhead: ", line)
    assert said in line


def test_a_bad_lecture_is_said_in_json_where_the_log_is_json(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"title": "Mine"}')
    said = ended(tmp_path, CLEARHEAD_LOG="json", CLEARHEAD_LECTURES=str(tmp_path))
    assert json.loads(said)["message"].startswith("mine.json: “about”, field required")


def test_help_says_what_the_settings_are_and_starts_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"CLEARHEAD_DATABASE_URL": f"sqlite:///{tmp_path}/runs.sqlite3"}
    command = [sys.executable, "-X", "importtime", "app.py", "--help"]
    said = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert all(name in said.stdout for name in VARIABLES)
    assert "gradio" not in said.stderr
    assert list(tmp_path.iterdir()) == []
