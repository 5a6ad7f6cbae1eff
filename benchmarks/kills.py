"""Kill the app again and again under load, and look whether every answer that was seen is in the log afterwards.

`python -m benchmarks.kills` starts the real app (with a model that answers at once) on a database of its own, asks it
from several callers at the same time, ends it with SIGKILL at a moment drawn by chance, starts it again, and compares
the log with every answer that a caller had in hand.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.fast_app import score_of
from demo.log.database import open_database
from demo.log.repository import RunRepository

_ROOT = Path(__file__).resolve().parents[1]
_STARTS_WITHIN_S = 180.0
_LATEST_KILL_S = 0.2
_UNLIMITED = {"CLEARHEAD_RUNS_PER_MINUTE": "1000000", "CLEARHEAD_RUNS_AT_ONCE": "1000", "CLEARHEAD_QUEUE": "1000"}


@dataclass(frozen=True)
class Kills:
    """What came of it: `missing` answers were seen and are not in the log, `wrong` ones say something else there.

    `unseen` runs are in the log though their answer reached nobody, because of the kill.
    """

    kills: int
    seen: int
    missing: int
    wrong: int
    unseen: int
    seconds: float


def kill_and_compare(
    kills: int, runs: int, callers: int = 8, database_url: str | None = None, chance: random.Random | None = None
) -> Kills:
    """Kill the app `kills` times while it answers at least `runs` calls in all, and once more at the end."""
    chance = chance or random.Random(0)
    began = time.monotonic()
    seen: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/runs.sqlite3"
        log = Path(folder) / "output.txt"
        for number in range(kills):
            process, address = _start(url, log)
            try:
                # What was seen before the last kill must be there for the app that starts after it.
                _require_all(url, seen)
                wanted = -(-runs * (number + 1) // kills) - len(seen)
                seen |= asyncio.run(_ask_until_killed(process, address, wanted, callers, chance))
                print(f"killed {number + 1} times, {len(seen):,} answers seen", file=sys.stderr)
            finally:
                process.kill()
                process.wait()
        logged = _logged(url)
    missing = [run_id for run_id in seen if run_id not in logged]
    wrong = [run_id for run_id in seen if run_id in logged and logged[run_id] != seen[run_id]]
    return Kills(kills, len(seen), len(missing), len(wrong), len(logged.keys() - seen.keys()), time.monotonic() - began)


async def _ask_until_killed(
    process: subprocess.Popen[bytes], address: str, wanted: int, callers: int, chance: random.Random
) -> dict[str, str]:
    """The texts of all answers that reached a caller, by run; the process is killed a moment after `wanted` of them."""
    seen: dict[str, str] = {}

    async def call(client: httpx.AsyncClient, caller: int) -> None:
        number = 0
        while process.poll() is None:
            text = f"Film {chance.random()} of caller {caller}, number {number}."
            number += 1
            try:
                answer = await _sentiment(client, text)
            except (httpx.TransportError, httpx.HTTPStatusError, ConnectionError):
                continue
            assert abs(answer["scores"]["positive"] - score_of(text)) < 1e-9, "an answer to another caller's text"  # noqa: S101
            seen[answer["run_id"]] = text

    async def kill() -> None:
        while len(seen) < wanted and process.poll() is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(chance.uniform(0, _LATEST_KILL_S))
        process.send_signal(signal.SIGKILL)

    async with httpx.AsyncClient(base_url=address, timeout=30, limits=httpx.Limits(max_connections=None)) as client:
        await asyncio.gather(kill(), *(call(client, caller) for caller in range(callers)))
    return seen


async def _sentiment(client: httpx.AsyncClient, text: str) -> dict[str, Any]:
    """One call of the endpoint, as curl makes it; an answer counts once all of it is here."""
    begun = await client.post("gradio_api/call/v2/sentiment", json={"text": text})
    begun.raise_for_status()
    told = await client.get(f"gradio_api/call/sentiment/{begun.json()['event_id']}")
    lines = told.text.splitlines()
    if "event: complete" not in lines:
        raise ConnectionError(told.text)
    data = json.loads(lines[lines.index("event: complete") + 1].removeprefix("data: "))
    return data[0]  # type: ignore[no-any-return]


def _start(database_url: str, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The app, ready to answer, and its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    environment = {
        **os.environ,
        **_UNLIMITED,
        "CLEARHEAD_DATABASE_URL": database_url,
        "CLEARHEAD_HOST": "127.0.0.1",
        "CLEARHEAD_PORT": str(port),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fast_app"], cwd=_ROOT, env=environment, stdout=output, stderr=output
        )
    address = f"http://127.0.0.1:{port}/"
    ends = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx.get(address, timeout=10).status_code == 200:
                return process, address
        except httpx.TransportError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"the app did not start:\n{log.read_text()}")


def _logged(database_url: str) -> dict[str, str]:
    """The texts of all answered runs in the log, by run."""
    database = open_database(database_url)
    texts = {run.id: str(run.inputs["text"]) for run in RunRepository(database).every_run() if run.answer}
    database.close()
    return texts


def _require_all(database_url: str, seen: dict[str, str]) -> None:
    missing = seen.keys() - _logged(database_url).keys()
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(seen)} answers are not in the log after the restart")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what came of it as JSON; the exit status says whether anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--database-url", help="an empty database; SQLite in a folder of its own without it")
    asked = parser.parse_args(arguments)
    found = kill_and_compare(asked.kills, asked.runs, asked.callers, asked.database_url)
    print(json.dumps(asdict(found), indent=2))
    sys.exit(bool(found.missing or found.wrong))


if __name__ == "__main__":
    main()
