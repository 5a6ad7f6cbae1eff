"""Kill the app repeatedly under load, and check that every answer a caller received is in the log afterwards.

`python -m benchmarks.kills` starts the real app (with a model that answers at once) on a database of its own, calls it
from several callers at the same time, ends it with SIGKILL at a random moment, starts it again, and compares the log
with every answer that a caller received.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import httpx
import psutil

from benchmarks.fast_app import score_of
from benchmarks.visitors import UNHURRIED, Served, call, served
from demo.log.database import open_database
from demo.log.upkeep import every_run

LATEST_KILL_S = 0.2
FAST_PAGE = [sys.executable, "-m", "benchmarks.fast_app"]


@dataclass(frozen=True)
class Kills:
    """The result: `missing` answers were seen but are not in the log, `wrong` ones have another text there.

    `unseen` runs are in the log although the kill kept their answer from the caller.
    """

    kills: int
    seen: int
    missing: int
    wrong: int
    unseen: int
    seconds: float


def kill_and_compare(kills: int, runs: int, callers: int = 8, database_url: str | None = None) -> Kills:
    """Kill the app `kills` times while it answers at least `runs` calls in all."""
    chance, began = random.Random(0), time.monotonic()
    seen: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/runs.sqlite3"
        settings = UNHURRIED | {"CLEARHEAD_DATABASE_URL": url, "CLEARHEAD_QUEUE": "1000"}
        for number in range(kills):
            with served(FAST_PAGE, settings) as page:
                # Answers seen before the last kill must be in the log of the app that starts after it.
                if missing := seen.keys() - logged(url):
                    raise RuntimeError(f"{len(missing)} of {len(seen)} answers are not in the log after the restart")
                wanted = -(-runs * (number + 1) // kills) - len(seen)
                seen |= asyncio.run(ask_until_killed(page, wanted, callers, chance))
            print(f"killed {number + 1} times, {len(seen):,} answers seen", file=sys.stderr)
        kept = logged(url)
    missing = seen.keys() - kept.keys()
    wrong = sum(kept[run_id] != seen[run_id] for run_id in seen.keys() & kept.keys())
    unseen = len(kept.keys() - seen.keys())
    return Kills(kills, len(seen), len(missing), wrong, unseen, time.monotonic() - began)


async def ask_until_killed(page: Served, wanted: int, callers: int, chance: random.Random) -> dict[str, str]:
    """Kill the process a moment after `wanted` answers; return the texts of all answers received, by run id."""
    seen: dict[str, str] = {}

    async def ask(client: httpx.AsyncClient, caller: int) -> None:
        while is_alive(page.process):
            text = f"Film {chance.random()} of caller {caller}."
            try:
                answer = await call(client, "sentiment", [text, ""])
            except (httpx.TransportError, RuntimeError):
                continue
            assert abs(answer["scores"]["positive"] - score_of(text)) < 1e-9, "an answer to another caller's text"  # noqa: S101
            seen[answer["run_id"]] = text

    async def kill() -> None:
        while len(seen) < wanted and is_alive(page.process):
            await asyncio.sleep(0.01)
        await asyncio.sleep(chance.uniform(0, LATEST_KILL_S))
        page.process.kill()

    async with httpx.AsyncClient(base_url=page.url, timeout=30, limits=httpx.Limits(max_connections=None)) as client:
        await asyncio.gather(kill(), *(ask(client, caller) for caller in range(callers)))
    return seen


def is_alive(process: psutil.Process) -> bool:
    """Whether the process still runs; one that was killed is a zombie until its parent waits for it."""
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def logged(database_url: str) -> dict[str, str]:
    """The texts of all answered runs in the log, by run id."""
    database = open_database(database_url)
    texts = {run.id: run.inputs["text"] for run in every_run(database) if run.answer}
    database.close()
    return texts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the result as JSON; the exit status is 1 if an answer is missing or wrong."""
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
