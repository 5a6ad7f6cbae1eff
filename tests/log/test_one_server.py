"""Processes on one PostgreSQL purge and migrate at the same time, and what they delete is wiped from its files."""

import random
import secrets
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from benchmarks.postgres import Postgres
from demo.log.database import COUNTED_RUNS, RUNS, SESSIONS
from demo.log.run import with_wish
from demo.log.session_log import SessionLog
from demo.log.upkeep import Upkeep, purge
from tests.log.processes import ROOT, start_python
from tests.log.runs import finished_run
from tests.log.test_database import EARLIER_RELEASES

_NOW = datetime.now(UTC)
_OLD = _NOW - timedelta(days=40)


@pytest.fixture
def database_url(postgres: Postgres) -> str:
    return postgres.new_database(f"one-server-{secrets.token_hex(6)}")


@pytest.fixture
def runs(database_url: str) -> Iterator[SessionLog]:
    log = SessionLog(database_url)
    yield log
    log.close()


def together(code: str, *arguments: list[str]) -> list[str]:
    """What processes print that run `code` at the same time: each says that it is ready, and reads when to begin."""
    processes = [start_python(code, *each) for each in arguments]
    for each in processes:
        assert each.stdout is not None and each.stdin is not None
        assert each.stdout.readline() == "ready\n", each.communicate()[1]
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    printed = []
    for each in processes:
        output, errors = each.communicate(timeout=120)
        assert each.returncode == 0 and not errors, errors
        printed.append(output)
    return printed


_PURGE = """
import sys
from demo.log.session_log import SessionLog
from demo.log.upkeep import purge
runs = SessionLog(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(purge(runs, 30))
assert runs.lasting, runs.why_not
"""

_RETURN = """
import sys
from datetime import UTC, datetime
from demo.log.session_log import SessionLog
from tests.log.runs import finished_run
runs = SessionLog(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(200):
    now = datetime.now(UTC)
    runs.record(finished_run(f"new {number}", session_id=f"visitor {number}", created_utc=now))
assert runs.lasting, runs.why_not
"""


def test_two_processes_purge_at_once_while_old_visitors_return(runs: SessionLog, database_url: str) -> None:
    for number in range(20):
        runs.record(finished_run(f"old {number}", session_id=f"visitor {number % 200}", created_utc=_OLD))
        runs.record(finished_run("", session_id=with_wish("", keep=False), created_utc=_OLD))
    with runs.writing() as connection:
        many = [
            vars(finished_run(f"old {number}", session_id=f"visitor {number % 200}", created_utc=_OLD))
            for number in range(20, 3_000)
        ]
        sessions = [{"id": f"visitor {number}", "created_utc": _OLD} for number in range(20, 200)]
        connection.execute(SESSIONS.insert(), sessions)
        connection.execute(SESSIONS.update(), {"created_utc": _OLD})
        connection.execute(RUNS.insert(), [{**each, "task": each["task"].value} for each in many])
    code = "import sys; exec(sys.argv[2])"
    *purged, _ = together(code, [database_url, _PURGE], [database_url, _PURGE], [database_url, _RETURN])
    assert sum(map(int, purged)) == 3_000, "each run is deleted by one of them, and neither fails for the other"
    with runs.reading() as connection:
        assert set(connection.scalars(sa.select(RUNS.c.id))) == {f"new {number}" for number in range(200)}
        assert len(connection.scalars(sa.select(SESSIONS.c.id)).all()) == 200
        assert not connection.scalars(sa.select(COUNTED_RUNS.c.number)).all()


def test_a_purge_waits_for_nobody_and_leaves_a_session_that_is_written_to(runs: SessionLog, database_url: str) -> None:
    for name in ("in use", "returning", "gone"):
        runs.record(finished_run(name, session_id=name, created_utc=_OLD))
    with runs.writing() as connection:
        connection.execute(SESSIONS.update(), {"created_utc": _OLD})
    elsewhere = SessionLog(database_url)
    with elsewhere.writing() as connection:
        connection.execute(sa.select(RUNS).where(RUNS.c.id == "in use").with_for_update())
        run = finished_run("new", session_id="returning", created_utc=_NOW)
        connection.execute(RUNS.insert(), {**vars(run), "task": run.task.value})
        upkeep = Upkeep(runs, 30)
        upkeep.look()
        assert runs.lasting, runs.why_not
        with runs.reading() as reading:
            assert set(reading.scalars(sa.select(RUNS.c.id))) == {"in use"}
            assert set(reading.scalars(sa.select(SESSIONS.c.id))) == {"in use", "returning"}
    elsewhere.close()
    assert runs.get("new") is not None
    assert purge(runs, 30) == 1
    assert runs.get("new") is not None and runs.get("in use") is None


_OPEN = """
import sys
import demo.log.session_log, tests.log.runs
print("ready", flush=True)
sys.stdin.readline()
runs = demo.log.session_log.SessionLog(sys.argv[1])
assert runs.lasting, runs.why_not
runs.record(tests.log.runs.finished_run(sys.argv[2]))
assert runs.lasting, runs.why_not
"""


@pytest.mark.parametrize("revision", ["", *EARLIER_RELEASES])
def test_two_processes_that_start_at_once_bring_a_database_up_to_date(database_url: str, revision: str) -> None:
    url = make_url(database_url).set(drivername="postgresql").render_as_string()
    with psycopg.connect(url, autocommit=True) as connection:
        if revision:
            connection.execute(_in_postgresql(EARLIER_RELEASES[revision]).encode())
        together(_OPEN, [database_url, "one"], [database_url, "two"])
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0003",)]
    runs = SessionLog(database_url)
    ids = [run.id for run in runs.for_session("a-session")]
    assert set(ids[:2]) == {"one", "two"} and ids[2:] == (["old"] if revision else [])
    if revision:
        assert (runs.share("old", "a-session") == "old key") == (revision == "0002")
    runs.record(finished_run("not kept", session_id=with_wish("", keep=False)))
    assert runs.lasting
    runs.close()


def _in_postgresql(script: str) -> str:
    """Statements for SQLite as PostgreSQL has these tables, whose numbers go on after those that are given."""
    types = {"DATETIME": "TIMESTAMP WITH TIME ZONE", "DOUBLE": "DOUBLE PRECISION", "number INTEGER": "number SERIAL"}
    for ours, theirs in types.items():
        script = script.replace(ours, theirs)
    return script + "SELECT setval('runs_number_seq', 1);"


_WRITE = """
import sys
from demo.log.session_log import SessionLog
from tests.log.test_one_server import fill
print("ready", flush=True)
sys.stdin.readline()
fill(SessionLog(sys.argv[1]), sys.argv[2])
"""


def fill(runs: SessionLog, process: str) -> None:
    """Write runs of two sessions, new and old ones, in short and long texts that are mixed in the tables' pages."""
    chance = random.Random(process)
    for number in range(150):
        session = chance.choice(["mine", "another's"])
        word, created_utc = (
            ("marmalade", _NOW) if session == "mine" else chance.choice([("porridge", _NOW), ("rhubarb", _OLD)])
        )
        # Digits at random cannot be compressed, so that what is looked for is also found in long texts.
        text = {"text": f"{word} {chance.randbytes(chance.choice([0, 30, 5_000])).hex()} {word}"}
        run_id = f"{process} {number}"
        runs.record(finished_run(run_id, session_id=session, inputs=text, created_utc=created_utc))
        if chance.random() < 0.2:
            runs.delete(run_id, session)


def test_what_processes_deleted_is_in_no_table_once_the_tables_are_rewritten(
    database_url: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words() -> set[str]:
        """Which of the words lie in the files of the server's tables."""
        with psycopg.connect(host=str(postgres.folder), user="tester", dbname="postgres", autocommit=True) as server:
            server.execute("CHECKPOINT")
        content = b"".join(path.read_bytes() for path in (postgres.folder / "data" / "base").rglob("*/[0-9]*"))
        return {word for word in ("marmalade", "porridge", "rhubarb") if word.encode() in content}

    together(_WRITE, [database_url, "one"], [database_url, "two"])
    assert words() == {"marmalade", "porridge", "rhubarb"}
    runs = SessionLog(database_url)
    assert runs.delete_all("mine")
    assert "marmalade" in words(), "PostgreSQL only marks it as free"
    monkeypatch.setenv("CLEARHEAD_DATABASE_URL", database_url)
    command = [sys.executable, "-m", "demo.log", "purge", "--days", "30", "--vacuum"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)  # noqa: S603
    assert words() == {"porridge"}
    assert runs.for_session("another's") and not runs.for_session("mine")
    runs.close()
