"""Two processes on one PostgreSQL behind nginx: each visitor stays with one, and moves on if it ends."""

import json
import re
import secrets
import signal
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.nginx import WHY_NOT, proxying
from benchmarks.postgres import find_server, running_postgres
from tests.api.server import Server, free_port, serving
from tests.web.calls import PATIENCE_S, until

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

_PASSWORD = "the host's own"  # noqa: S105
_COOKIE = "clearhead_route"


class Visitor:
    """A browser's calls through the proxy: the page first, then runs of one session."""

    def __init__(self, proxy: tuple[str, str, Path], name: str) -> None:
        trusted = ssl.create_default_context(cafile=str(proxy[2]))
        self.session = f"{name} {secrets.token_hex(16)}"
        self.client = httpx.Client(base_url=f"{proxy[1]}/clearhead/", verify=trusted, timeout=PATIENCE_S)
        self.page = self.client.get("").raise_for_status()

    @property
    def route(self) -> str:
        """What the visitor's cookie says."""
        return self.client.cookies[_COOKIE]

    def ask(self, endpoint: str, *data: Any) -> Any:
        """What an endpoint answers; the two calls that it takes share nothing but the cookie."""
        begun = self.client.post(f"gradio_api/call/{endpoint}", json={"data": data, "session_hash": self.session})
        event = begun.raise_for_status().json()["event_id"]
        lines = self.client.get(f"gradio_api/call/{endpoint}/{event}").text.splitlines()
        last = [line for line in lines if line][-2:]
        assert last[0] == "event: complete", (self.session, self.route, lines)
        return json.loads(last[1].removeprefix("data: "))[0]

    def judge(self, text: str) -> str:
        """The number of a new run."""
        return str(self.ask("sentiment", text, "")["run_id"])

    def history(self) -> set[str]:
        """The numbers of all runs of this visitor."""
        return {run["id"] for run in self.ask("session_runs")}


class Processes:
    """Clearhead twice, with a model that answers at once, on one database and with one secret."""

    def __init__(self, folder: Path, database_url: str, running: ExitStack) -> None:
        self._folder, self._database_url, self._running = folder, database_url, running
        self.servers = {str(port): self._start(port) for port in (free_port(), free_port())}

    def _start(self, port: int) -> Server:
        folder = self._folder / f"{port}-{time.monotonic_ns()}"
        folder.mkdir()
        settings = {
            "CLEARHEAD_PORT": str(port),
            "CLEARHEAD_ROOT_PATH": "/clearhead",
            "CLEARHEAD_DATABASE_URL": self._database_url,
            "CLEARHEAD_SECRET": "the same in all processes",
            "CLEARHEAD_HOST_PASSWORD": _PASSWORD,
            "CLEARHEAD_RUNS_PER_MINUTE": "100000",
        }
        program = ("-m", "benchmarks.fast_app")
        return self._running.enter_context(serving(folder, program=program, **settings))

    def start(self, port: str) -> None:
        """Start the process at `port` again, and wait until it is ready."""
        self.servers[port] = self._start(int(port))
        ready = f"{self.servers[port].url}readyz"
        until(lambda: httpx.get(ready, timeout=PATIENCE_S).status_code == 200, "it never was ready")

    def runs(self) -> Counter[str]:
        """How many runs each process has answered since its start, by what it says itself."""
        counted: Counter[str] = Counter()
        for port, server in self.servers.items():
            said = httpx.get(f"{server.url}metrics", auth=("host", _PASSWORD), timeout=PATIENCE_S).text
            numbers = re.findall(r'^clearhead_runs_total\{.*outcome="done".*task="sentiment".*\} ([\d.]+)$', said, re.M)
            counted[port] = int(sum(map(float, numbers)))
        return counted


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    programs = find_server()
    if programs is None:
        pytest.skip("there is no PostgreSQL server here")
    with running_postgres(programs) as server:
        yield server.new_database("processes")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> Iterator[Processes]:
    with ExitStack() as running:
        yield Processes(tmp_path_factory.mktemp("processes"), database_url, running)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, processes: Processes) -> Iterator[tuple[str, str, Path]]:
    with proxying(tmp_path_factory.mktemp("proxy"), *map(int, processes.servers)) as addresses:
        yield addresses


def crowd(proxy: tuple[str, str, Path], name: str, most: int = 40) -> list[Visitor]:
    """Visitors of whom two or more are at home in each process."""
    visitors, at_home = [], Counter[str]()
    while len(at_home) < 2 or min(at_home.values()) < 2:
        assert len(visitors) < most, f"visitors went to {at_home}"
        visitors.append(Visitor(proxy, name))
        at_home[visitors[-1].route] += 1
    return visitors


def test_visitors_spread_over_the_processes_and_stay(processes: Processes, proxy: tuple[str, str, Path]) -> None:
    visitors, before = crowd(proxy, "staying"), processes.runs()
    assert {each.route for each in visitors} == processes.servers.keys()
    for _ in range(3):
        for each in visitors:
            each.judge("A quiet film.")
    expected = Counter(each.route for each in visitors for _ in range(3))
    assert processes.runs() - before == expected


def test_the_cookie_says_which_process_and_nothing_else(processes: Processes, proxy: tuple[str, str, Path]) -> None:
    visitor = Visitor(proxy, "careful")
    (cookie,) = [each for each in visitor.page.headers.get_list("set-cookie") if each.startswith(_COOKIE)]
    value, *attributes = cookie.removeprefix(f"{_COOKIE}=").split("; ")
    assert value in processes.servers
    assert attributes == ["Path=/clearhead/", "HttpOnly", "Secure", "SameSite=Lax"]
    assert visitor.page.headers["strict-transport-security"]
    # Who brings it is given none.
    assert "set-cookie" not in visitor.client.get("").headers


def test_callers_without_cookies_reach_one_process(processes: Processes, proxy: tuple[str, str, Path]) -> None:
    before = processes.runs()
    visitor = Visitor(proxy, "curl, which keeps no cookie")
    for _ in range(5):
        visitor.client.cookies.clear()
        begun = visitor.client.post("gradio_api/call/sentiment", json={"data": ["A quiet film.", ""]})
        visitor.client.cookies.clear()
        answer = visitor.client.get(f"gradio_api/call/sentiment/{begun.json()['event_id']}").text
        assert "event: complete" in answer
    assert list((processes.runs() - before).values()) == [5]


def test_who_was_at_home_in_a_killed_process_goes_on_in_the_other(
    processes: Processes, proxy: tuple[str, str, Path]
) -> None:
    visitors = crowd(proxy, "bereft")
    lost, left = processes.servers
    runs = {each.session: {each.judge("Before it was killed.")} for each in visitors}
    processes.servers[lost].kill()
    for each in visitors:
        runs[each.session].add(each.judge("After it was killed."))
        assert each.history() == runs[each.session]
        assert each.route == left
    processes.start(lost)
    before = processes.runs()
    for each in visitors:
        each.judge("It is back, and nobody moves.")
    assert processes.runs() - before == Counter({left: len(visitors)})


def test_nobody_notices_that_one_after_the_other_starts_anew(
    processes: Processes, proxy: tuple[str, str, Path]
) -> None:
    visitors, restarted = crowd(proxy, "unaware"), threading.Event()
    answered, wrong = Counter[str](), list[object]()

    def call(visitor: Visitor) -> None:
        while not restarted.is_set():
            try:
                run = visitor.judge("Is anybody there?")
                answered[visitor.session] += 1
                assert answered[visitor.session] % 10 or run in visitor.history()
            except (AssertionError, httpx.HTTPError) as error:
                wrong.append(error)
            # Leaves the processors to those that start.
            restarted.wait(0.05)

    with all_of(threading.Thread(target=call, args=[each]) for each in visitors):
        try:
            for port in processes.servers:
                so_far = Counter(answered)
                until(lambda: not wrong and len(answered - so_far) == len(visitors), f"not all ask: {wrong}")  # noqa: B023
                processes.servers[port].process.send_signal(signal.SIGTERM)
                assert processes.servers[port].process.wait(timeout=PATIENCE_S) == -signal.SIGTERM
                processes.start(port)
            so_far = Counter(answered)
            until(lambda: len(answered - so_far) == len(visitors), "not all ask in the end")
        finally:
            restarted.set()
    assert wrong == []


@contextmanager
def all_of(threads: Iterator[threading.Thread]) -> Iterator[None]:
    started = list(threads)
    for each in started:
        each.start()
    yield
    for each in started:
        each.join()


@contextmanager
def breaking_off() -> Iterator[tuple[int, list[bytes]]]:
    """A process that reads a call and hangs up, as one that is killed while it works: its port, and what it read."""
    read: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    read.append(connection.recv(65536).split(b"\r\n", 1)[0])

        hanging_up = threading.Thread(target=hang_up, daemon=True)
        hanging_up.start()
        try:
            yield listener.getsockname()[1], read
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            hanging_up.join()


def first_lines(folder: Path, method: str, path: str) -> list[bytes]:
    """What two such processes read of a call through the proxy, which says in the end that it has no answer."""
    with breaking_off() as (first, by_first), breaking_off() as (second, by_second):
        folder.mkdir()
        with proxying(folder, first, second) as (_, safe, certificate):
            trusted = ssl.create_default_context(cafile=str(certificate))
            answer = httpx.request(method, f"{safe}/clearhead{path}", verify=trusted, timeout=PATIENCE_S)
        assert answer.status_code == 502
        return by_first + by_second


def test_a_run_that_was_delivered_is_never_sent_again(tmp_path: Path) -> None:
    join = "/gradio_api/queue/join"
    assert first_lines(tmp_path / "asked", "POST", join) == [f"POST {join} HTTP/1.1".encode()]
    # To read twice does no harm.
    assert first_lines(tmp_path / "read", "GET", "/config") == [b"GET /config HTTP/1.1"] * 2
