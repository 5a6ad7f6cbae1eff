"""Measure what visitors notice when processes are killed, the database is restarted, and every process is restarted.

`python -m benchmarks.processes` puts nginx with `deploy/nginx.conf` in front of four processes of the app on one
PostgreSQL. While 100 visitors ask, one process is killed every 30 seconds and started again; halfway through,
PostgreSQL is down for some seconds, during which one of the kills falls. Then each process in turn is terminated and
started again. The models are the app's; with `--quick`, a model that answers at once replaces them.
"""

import argparse
import asyncio
import json
import random
import secrets
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import psycopg

from benchmarks.fast_app import score_of
from benchmarks.kills import FAST_PAGE
from benchmarks.load import mixed
from benchmarks.nginx import proxying
from benchmarks.postgres import Postgres, find_server, running_postgres
from benchmarks.visitors import OUR_PAGE, PATIENCE_S, UNHURRIED, Call, Served, call, free_port, served
from demo.log.database import open_database
from demo.log.upkeep import every_run

PAUSE_S = 2.0
"""Mean seconds for which a visitor reads an answer before asking again."""

AWAY_S = 4.0
"""Seconds for which PostgreSQL is down; a process is killed in the middle of that."""

COMES_BACK_WITHIN_S = 30.0


@dataclass(frozen=True)
class Kill:
    """The end of the process at `port`: the moments when the signal was sent and when the process was gone."""

    port: str
    sent: float
    gone: float


@dataclass(frozen=True)
class Answer:
    """An answer that a visitor received: the texts of its call, and whether it claimed to be in the log."""

    texts: set[str]
    logged: bool


@dataclass
class Seen:
    """The answers that all visitors received by run id, their times in seconds, and calls that failed."""

    answers: dict[str, Answer] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    failures: list[tuple[float, float, set[str], str]] = field(default_factory=list)
    """When each began and ended, the ports of the processes that it went to, and its error."""

    foreign: int = 0


@dataclass(frozen=True)
class Found:
    """The result.

    `cut_off` calls failed because they were in a process that was killed, and were answered when repeated; `failed`
    counts all other failures. Of the answers that were seen, `missing` ones are not in the log, `wrong` ones have other
    texts there, and `foreign` ones answered another text. `not_kept` ones are not in the log either, and said so: each
    waited in the memory of a process that was killed while the database was down.
    """

    processes: int
    kills: int
    seen: int
    seen_a_second: float
    core_ms_an_answer: float
    p50_s: float
    p95_s: float
    cut_off: int
    not_kept: int
    seen_while_restarted: int
    failed: int
    foreign: int
    missing: int
    wrong: int
    failures: dict[str, int]
    database_connections: int
    bytes_a_run: int
    memory_mb: int


class Site:
    """Several processes of the app with one database and one secret, each at a port of its own."""

    def __init__(self, count: int, database_url: str, quick: bool, running: ExitStack) -> None:
        self._page, self._running = FAST_PAGE if quick else OUR_PAGE, running
        self._settings = UNHURRIED | {
            "CLEARHEAD_ROOT_PATH": "/clearhead",
            "CLEARHEAD_DATABASE_URL": database_url,
            "CLEARHEAD_SECRET": secrets.token_urlsafe(),
            "CLEARHEAD_QUEUE": "1000",
        }
        self.served: dict[str, Served] = {}
        self._cpu_s = 0.0
        for _ in range(count):
            self.start(str(free_port()))

    def start(self, port: str) -> None:
        """Start the process at `port` and wait until it answers; its database may be down."""
        page = served(self._page, self._settings | {"CLEARHEAD_PORT": port})
        self.served[port] = self._running.enter_context(page)
        # The CPU time of a start does not count towards the answers.
        self._cpu_s -= cpu_s(self.served[port].process)

    def start_ready(self, port: str) -> None:
        """Start the process at `port`, and wait until it is ready."""
        self.start(port)
        ends = time.monotonic() + COMES_BACK_WITHIN_S
        while httpx.get(f"{self.served[port].url}readyz", timeout=PATIENCE_S).status_code != 200:
            if time.monotonic() > ends:
                raise RuntimeError(f"the process at {port} is not ready")
            time.sleep(0.1)

    def end(self, port: str, *, kill: bool) -> Kill:
        """End the process at `port`, by SIGKILL or SIGTERM, and wait until it is gone."""
        process = self.served[port].process
        self._cpu_s += cpu_s(process)
        sent = time.monotonic()
        if kill:
            process.kill()
        else:
            process.terminate()
        process.wait(PATIENCE_S)
        return Kill(port, sent, time.monotonic())

    @property
    def cpu_s(self) -> float:
        """The CPU seconds that all processes have used since each was started."""
        return self._cpu_s + sum(cpu_s(each.process) for each in self.served.values())


def cpu_s(process: psutil.Process) -> float:
    """The CPU seconds, user and system, that a process has used."""
    return float(sum(process.cpu_times()[:2]))


@contextmanager
def site(count: int, quick: bool) -> Iterator[tuple[Site, Postgres, str, str, ssl.SSLContext]]:
    """Run the processes behind nginx; yield them, their PostgreSQL, its URL, nginx's address and a TLS context."""
    programs = find_server()
    if programs is None:
        raise RuntimeError("there is no PostgreSQL server here")
    with running_postgres(programs) as postgres, ExitStack() as running, tempfile.TemporaryDirectory() as folder:
        database_url = postgres.new_database("processes")
        processes = Site(count, database_url, quick, running)
        _, safe, certificate = running.enter_context(proxying(Path(folder), *map(int, processes.served)))
        yield processes, postgres, database_url, f"{safe}/clearhead/", ssl.create_default_context(cafile=certificate)


class Visitor:
    """A client at its own IP address that opens the page, then calls with pauses and repeats calls that failed."""

    def __init__(self, url: str, trusted: ssl.SSLContext, number: int, quick: bool, seen: Seen) -> None:
        self.mark, self._session = f"visitor{number}x{secrets.token_hex(3)}", secrets.token_urlsafe(12)
        self._chance, self._quick, self._seen = random.Random(number), quick, seen
        own = httpx.AsyncHTTPTransport(verify=trusted, local_address=f"127.0.{number // 250 + 1}.{number % 250 + 1}")
        self.client = httpx.AsyncClient(base_url=url, transport=own, timeout=PATIENCE_S)

    async def visit(self, ended: asyncio.Event) -> None:
        """Call until `ended` is set."""
        async with self.client:
            (await self.client.get("")).raise_for_status()
            number = 0
            while not ended.is_set():
                number += 1
                calls = mixed(self.mark, number)
                asked = calls[0] if self._quick else self._chance.choice(calls)
                while not await self._is_answered(asked) and not ended.is_set():
                    pass
                await asyncio.sleep(self._chance.uniform(0, 2 * PAUSE_S))

    async def _is_answered(self, asked: Call) -> bool:
        endpoint, data = asked
        began, ports = time.monotonic(), {self._port}
        try:
            answer = await call(self.client, endpoint, data, self._session)
        except (httpx.HTTPError, RuntimeError, ValueError) as error:
            self._seen.failures.append((began, time.monotonic(), ports | {self._port}, f"{endpoint}: {error!r}"[:200]))
            return False
        self._seen.seconds.append(time.monotonic() - began)
        self._seen.answers[answer["run_id"]] = Answer({each for each in data if self._is_text(each)}, answer["logged"])
        if self._quick:
            self._seen.foreign += abs(answer["scores"]["positive"] - score_of(data[0])) > 1e-9
        return True

    def _is_text(self, value: Any) -> bool:
        return isinstance(value, str) and self.mark in value

    @property
    def _port(self) -> str:
        """The port of the process that nginx's cookie binds this visitor to, empty before the first answer."""
        return self.client.cookies.get("clearhead_route") or ""


async def disturb(processes: Site, postgres: Postgres, seconds: float, every_s: float) -> list[Kill]:
    """Kill a process every `every_s` seconds, once while PostgreSQL is down, and start each again at once."""
    kills, many = [], int(seconds // every_s)
    for number in range(many):
        await asyncio.sleep(every_s)
        port = list(processes.served)[number % len(processes.served)]
        if number == many // 2:
            await asyncio.to_thread(postgres.stop)
            await asyncio.sleep(AWAY_S / 2)
        kills.append(await asyncio.to_thread(processes.end, port, kill=True))
        print(f"killed {number + 1} of {many} times", file=sys.stderr)
        starting = asyncio.create_task(asyncio.to_thread(processes.start, port))
        if number == many // 2:
            await asyncio.sleep(AWAY_S / 2)
            await asyncio.to_thread(postgres.start)
        await starting
    await asyncio.sleep(every_s)
    return kills


async def measure(
    running: tuple[Site, Postgres, str, str, ssl.SSLContext], visitors: int, seconds: float, every_s: float, quick: bool
) -> Found:
    """Let the visitors call, disturb them, restart the processes in turn, and compare the answers with the log."""
    processes, postgres, database_url, url, trusted = running
    seen, ended = Seen(), asyncio.Event()
    everybody = [Visitor(url, trusted, number, quick, seen) for number in range(visitors)]
    visits = asyncio.gather(*(each.visit(ended) for each in everybody))
    began = time.monotonic()
    kills = await disturb(processes, postgres, seconds, every_s)
    took_s, so_far, worked_s = time.monotonic() - began, len(seen.seconds), processes.cpu_s
    memory = [each.process.memory_info().rss for each in processes.served.values()]
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    connections = count(postgres, f"SELECT count(*) FROM pg_stat_activity WHERE {others}")  # noqa: S608
    for port in list(processes.served):
        await asyncio.to_thread(processes.end, port, kill=False)
        await asyncio.to_thread(processes.start_ready, port)
        print(f"the process at {port} was restarted", file=sys.stderr)
    ended.set()
    await visits
    logged = texts_in(database_url)
    cut_off, failed = judged(seen, kills)
    lost = Counter(answer.logged for run, answer in seen.answers.items() if run not in logged)
    p50, p95 = np.quantile(seen.seconds or [0.0], [0.5, 0.95])
    return Found(
        processes=len(processes.served),
        kills=len(kills),
        seen=len(seen.answers),
        seen_a_second=round(so_far / took_s, 1),
        core_ms_an_answer=round(1e3 * worked_s / max(so_far, 1), 1),
        p50_s=round(float(p50), 3),
        p95_s=round(float(p95), 3),
        cut_off=cut_off,
        not_kept=lost[False],
        seen_while_restarted=len(seen.seconds) - so_far,
        failed=sum(failed.values()),
        foreign=seen.foreign,
        missing=lost[True],
        wrong=sum(not each.texts <= logged[run] for run, each in seen.answers.items() if run in logged),
        failures=dict(failed),
        database_connections=connections,
        bytes_a_run=count(postgres, "SELECT pg_total_relation_size('runs') / greatest(count(*), 1) FROM runs"),
        memory_mb=round(max(memory) / 1e6),
    )


def judged(seen: Seen, kills: Sequence[Kill]) -> tuple[int, Counter[str]]:
    """The number of calls that failed because their process was killed, and the counts of all other errors."""
    failed: Counter[str] = Counter()
    for began, ended, ports, said in seen.failures:
        if not any(each.port in ports and began <= each.gone and ended >= each.sent for each in kills):
            failed[said] += 1
    return len(seen.failures) - sum(failed.values()), failed


def texts_in(database_url: str) -> dict[str, set[str]]:
    """The texts of every answered run in the log, by run id."""
    with closing(open_database(database_url)) as database:
        return {run.id: set(run.inputs.values()) for run in every_run(database) if run.answer}


def count(postgres: Postgres, query: str) -> int:
    """Return the number that a query finds."""
    with psycopg.connect(host=str(postgres.folder), user="tester", dbname="processes") as connection:
        (found,) = connection.execute(query.encode()).fetchone() or (0,)
        return int(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the result as JSON; the exit status is 1 if anything was lost, mixed up or refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--visitors", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--every", type=float, default=30, help="seconds from kill to kill")
    parser.add_argument("--quick", action="store_true", help="a model that answers at once, in place of the real ones")
    asked = parser.parse_args(arguments)
    with site(asked.processes, asked.quick) as running:
        found = asyncio.run(measure(running, asked.visitors, asked.seconds, asked.every, asked.quick))
    print(json.dumps(asdict(found), indent=2))
    sys.exit(bool(found.failed or found.foreign or found.missing or found.wrong))


if __name__ == "__main__":
    main()
