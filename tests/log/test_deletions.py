"""What one process on a PostgreSQL deletes leaves the others' memory; one that missed notices forgets everything."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from benchmarks.postgres import Postgres
from demo.log.deletions import Deletion, hear_deletions
from demo.log.run import with_wish
from demo.log.session_log import LogUnavailable, SessionLog
from models.errors import InputError
from tests.log.processes import ROOT, start_python
from tests.log.runs import finished_run

_PATIENCE_S = 10.0
"""Two seconds are promised; a machine that is busy with other tests may need more."""

_SERVICE = """
import json, sys
from demo.log.deletions import hear_deletions
from demo.log.session_log import SessionLog
from demo.log.upkeep import Upkeep
from demo.runs import DemoService
from demo.settings import Settings
from demo.web.host_log import set_up_log
from models.backend import LocalBackend
from models.loading.store import ModelStore
from models.registry import Task

set_up_log("plain", open(sys.argv[2], "w", buffering=1))
log = SessionLog(sys.argv[1])
service, shown = DemoService(Settings(database_url=sys.argv[1]), LocalBackend(ModelStore()), log), {}

def forget(is_meant):
    for run_id in [run_id for run_id, origin in shown.items() if is_meant(origin)]:
        del shown[run_id]

service.when_forgetting(forget)
Upkeep(log, None).start()
hear_deletions(sys.argv[1], service.hear)
for line in sys.stdin:
    command, *of = json.loads(line)
    if command == "run":
        finished = service.run(of[0], Task.SENTIMENT, {"text": of[1]})
        shown[finished.run.id] = finished.origin
    if command == "reopen":
        shown[of[0]] = service.reopen(service.get(of[0])).origin
    said = {
        "run": lambda: finished.run.id,
        "texts": lambda: sorted({*shown, *(session for key in service._cache._entries for session in key[0])}),
        "lasting": lambda: log.lasting,
    }
    print(json.dumps(said.get(command, dict)()), flush=True)
"""


class Service:
    """Another process that answers runs of the same log, with all that it holds of them in memory."""

    def __init__(self, database_url: str, output: Path) -> None:
        self.output = output
        self._process = start_python(_SERVICE, database_url, str(output))

    def ask(self, *command: object) -> Any:
        """What it says to a command."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        assert said, self._process.communicate()[1]
        return json.loads(said)

    def texts(self) -> set[str]:
        """The runs that its pages show, and the sessions of which it holds answers."""
        return set(self.ask("texts"))

    def end(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def database_url(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    return postgres.new_database(f"deletions-{abs(hash(request.node.name))}")


@pytest.fixture
def runs(database_url: str) -> Iterator[SessionLog]:
    """The log in this process, which deletes."""
    log = SessionLog(database_url)
    yield log
    log.close()


@pytest.fixture
def other(runs: SessionLog, database_url: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(database_url, tmp_path / "output")
    yield service
    service.end()


def until(holds: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


def is_written(runs: SessionLog, run_id: str) -> bool:
    with suppress(LogUnavailable):
        return runs.recover() and runs.get(run_id) is not None
    return False


def test_what_one_process_deletes_no_other_goes_on_holding(runs: SessionLog, other: Service) -> None:
    first, second = (other.ask("run", "mine", text) for text in ("A quiet film.", "A loud film."))
    theirs = other.ask("run", "another's", "A quiet film.")
    assert other.texts() == {"mine", "another's", first, second, theirs}
    assert runs.delete(first, "mine")
    until(lambda: other.texts() == {"another's", second, theirs}, "a run is gone, and answers that it shares")
    other.ask("run", "mine", "A loud film.")
    assert not runs.delete(theirs, "mine") and runs.delete_all("mine") == 2
    until(lambda: other.texts() == {"another's", theirs}, "the session is gone, and nobody else's")
    assert runs.get(theirs) is not None


def test_runs_that_only_memory_holds_are_forgotten_where_their_session_was_deleted(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite3").write_text("a diary, not a database")
    log = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3")
    for owner in ("mine", "theirs"):
        log.record(finished_run(f"{owner}, waiting", session_id=owner))
        log.record(finished_run(f"{owner}, not kept", session_id=with_wish(owner, keep=False)))

    def held() -> list[str]:
        every = [f"{owner}, {what}" for owner in ("mine", "theirs") for what in ("waiting", "not kept")]
        return [run_id for run_id in every if not log.is_kept(run_id)]

    log.hear(Deletion.of("mine", "theirs, waiting"))
    assert len(held()) == 4
    log.hear(Deletion.of(with_wish("mine", keep=False)))
    assert held() == ["theirs, waiting", "theirs, not kept"]
    log.hear(Deletion())
    assert held() == ["theirs, waiting"], "which is nowhere else, and nobody has said that it was deleted"


def test_a_link_that_one_process_ends_leads_nowhere_in_any(runs: SessionLog, database_url: str) -> None:
    runs.record(finished_run("a"))
    elsewhere = SessionLog(database_url)
    key = runs.share("a", "a-session")
    assert elsewhere.shared(key).id == "a"
    assert runs.unshare("a", "a-session")
    with pytest.raises(InputError, match="leads to no run"):
        elsewhere.shared(key)
    elsewhere.close()


def test_what_the_host_purges_at_the_command_line_leaves_every_process(
    runs: SessionLog, other: Service, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = datetime.now(UTC) - timedelta(days=10)
    runs.record(finished_run("ten days", session_id="mine", created_utc=old))
    other.ask("reopen", "ten days")
    fresh = other.ask("run", "mine", "A quiet film.")
    monkeypatch.setenv("CLEARHEAD_DATABASE_URL", database_url)
    for days, left in ((20, {"ten days", "mine", fresh}), (5, {fresh})):
        command = [sys.executable, "-m", "demo.log", "purge", "--days", str(days)]
        subprocess.run(command, cwd=ROOT, check=True, timeout=120)  # noqa: S603
        until(lambda left=left: other.texts() == left, f"older than {days} days")


def test_after_the_server_was_away_nothing_that_may_have_been_deleted_is_held(
    runs: SessionLog, other: Service, postgres: Postgres
) -> None:
    run_id = other.ask("run", "mine", "A quiet film.")
    assert is_written(runs, run_id)
    postgres.stop()
    try:
        until(lambda: "are not heard" in other.output.read_text(), "the host is told")
        during = other.ask("run", "mine", "A loud film.")
        assert not other.ask("lasting")
        assert {"mine", during} <= other.texts(), "while nobody can delete, pages go on"
        time.sleep(3)
        said = other.output.read_text()
        time.sleep(4)
        assert other.output.read_text() == said, "and the host is not told again at every try"
    finally:
        postgres.start()
    until(lambda: not other.texts(), "everything is forgotten")
    until(lambda: bool(other.ask("lasting")), "the log is written again")
    until(lambda: is_written(runs, during), "what waited is written")
    assert other.output.read_text().count("are heard again") == 1
    after = other.ask("run", "mine", "A long film.")
    assert other.texts() == {"mine", after}
    assert runs.delete_all("mine") == 3
    until(lambda: not other.texts(), "and deletions are heard again")


def test_only_a_deletion_that_is_committed_is_told_and_no_id_is(runs: SessionLog, database_url: str) -> None:
    runs.record(finished_run("a-run-id"))
    heard: list[Deletion] = []
    hear_deletions(database_url, heard.append)
    until(lambda: heard == [Deletion()], "whoever begins to listen has missed everything")
    with pytest.raises(RuntimeError), runs.writing() as connection:
        Deletion.of("rolled back").announce(connection)
        raise RuntimeError
    with psycopg.connect(
        make_url(database_url).set(drivername="postgresql").render_as_string(), autocommit=True
    ) as spy:
        spy.execute("LISTEN clearhead_deleted")
        assert runs.delete("a-run-id", "a-session")
        (told,) = spy.notifies(timeout=_PATIENCE_S, stop_after=1)
        assert "a-run-id" not in told.payload and "a-session" not in told.payload
        spy.execute("NOTIFY clearhead_deleted, 'what a later release may say'")
    until(lambda: heard[1:] == [Deletion.of("a-session", "a-run-id"), Deletion()], "in the order of the deletions")


def test_a_database_of_one_process_has_nobody_to_listen_to(tmp_path: Path) -> None:
    before = threading.active_count()
    for url in ("sqlite://", f"sqlite:///{tmp_path}/runs.sqlite3"):
        hear_deletions(url, lambda _deletion: None)
    assert threading.active_count() == before
