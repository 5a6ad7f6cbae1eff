"""The log's command line: backup, restore, purge, statistics and export, while the demo is running or not."""

import contextlib
import csv
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from demo.log.__main__ import main
from demo.log.database import open_database
from demo.log.run import Run, with_wish
from demo.log.session_log import SessionLog
from demo.log.upkeep import every_run
from tests.log.runs import failed_run, finished_run


def every(runs: SessionLog) -> list[Run]:
    assert runs._database is not None
    return list(every_run(runs._database))


Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str) -> Said:
    """Runs a command; its exit status, and what it printed."""
    monkeypatch.setenv("CLEARHEAD_DATABASE_URL", database_url)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def runs(database_url: str) -> SessionLog:
    """The log as the running demo holds it open."""
    log = SessionLog(database_url)
    log.record(finished_run("a", inputs={"text": "=naïve"}))
    log.record(failed_run("b"))
    log.record(finished_run("c", session_id="another-session"))
    return log


only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@only_sqlite
def test_a_backup_while_runs_are_written_holds_those_before_it_and_is_one_file(
    said: Said, runs: SessionLog, tmp_path: Path
) -> None:
    copy = tmp_path / "copies" / "copy.sqlite3"
    copy.parent.mkdir()
    assert said("backup", copy)[:2] == (0, f"3 runs are in {copy}\n")
    runs.record(finished_run("after"))
    assert [path.name for path in copy.parent.iterdir()] == ["copy.sqlite3"]
    assert copy.stat().st_mode & 0o077 == 0
    assert [run.id for run in every_run(open_database(f"sqlite:///{copy}"))] == ["a", "b", "c"]


@only_sqlite
def test_a_backup_does_not_write_over_another_unless_told(said: Said, runs: SessionLog, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    said("backup", copy)
    before = copy.read_bytes()
    runs.record(finished_run("after"))
    status, _, complaint = said("backup", copy)
    assert (status, copy.read_bytes()) == (2, before)
    assert "--replace" in complaint
    assert said("backup", copy, "--replace")[1].startswith("4 runs")


@only_sqlite
def test_a_restored_copy_is_what_the_running_demo_sees(said: Said, runs: SessionLog, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    said("backup", copy)
    runs.record(finished_run("later"))
    status, _, complaint = said("restore", copy)
    assert status == 2
    assert "holds 4 runs" in complaint
    assert runs.get("later") is not None
    assert said("restore", copy, "--replace")[:2] == (0, f"the log holds the 3 runs of {copy}\n")
    assert runs.get("later") is None
    runs.record(finished_run("after"))
    assert runs.lasting
    assert [run.id for run in runs.for_session("a-session")] == ["after", "b", "a"]


@only_sqlite
def test_a_copy_is_restored_where_there_is_no_log(said: Said, runs: SessionLog, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    said("backup", copy)
    runs.close()
    for path in tmp_path.glob("runs.sqlite3*"):
        path.unlink()
    assert said("restore", copy)[0] == 0
    assert runs.recover()
    assert said("stats")[1].startswith("3 runs of 2 sessions")


def spoil(path: Path, how: str) -> None:
    if how == "newer":
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
    elif how == "garbage":
        path.write_bytes(b"a diary, not a database\n" * 100)
    elif how == "damaged":
        path.write_bytes(path.read_bytes()[:1000] + b"\xa5" * 100_000)
    elif how == "another database":
        path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE recipes (name TEXT)")


@only_sqlite
@pytest.mark.parametrize("how", ["newer", "garbage", "damaged", "another database"])
def test_a_copy_that_cannot_be_read_is_refused_and_nothing_changes(
    said: Said, runs: SessionLog, tmp_path: Path, how: str
) -> None:
    copy = tmp_path / "copy.sqlite3"
    said("backup", copy)
    spoil(copy, how)
    status, _, complaint = said("restore", copy, "--replace")
    assert status == 2
    assert "copy.sqlite3" in complaint or "newer" in complaint
    assert len(every(runs)) == 3


@only_sqlite
@pytest.mark.parametrize("how", ["newer", "garbage", "damaged"])
def test_a_log_that_cannot_be_read_is_put_aside_not_lost(
    said: Said, runs: SessionLog, tmp_path: Path, how: str
) -> None:
    copy, path = tmp_path / "copy.sqlite3", tmp_path / "runs.sqlite3"
    said("backup", copy)
    runs.close()
    spoil(path, how)
    before = path.read_bytes()
    assert said("restore", copy)[0] == 2
    assert path.read_bytes() == before
    assert said("restore", copy, "--replace")[0] == 0
    (aside,) = (each for each in tmp_path.glob("runs.sqlite3.unreadable-*") if not each.name.endswith(("-wal", "-shm")))
    assert aside.read_bytes() == before
    again = SessionLog(f"sqlite:///{path}")
    assert again.lasting
    assert len(every(again)) == 3


@pytest.mark.parametrize("command", [["backup"], ["restore"]])
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_for_a_server_its_own_programs_are_named(
    said: Said, runs: SessionLog, command: list[str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    other = SessionLog(f"sqlite:///{copy}")
    other.close()
    status, _, complaint = said(command[0], copy, "--replace")
    assert status == 2
    assert "pg_dump" in complaint


def test_purge_forgets_what_is_old_and_vacuum_makes_room(
    said: Said, runs: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        runs.record(finished_run(f"now {number}", created_utc=datetime.now(UTC), inputs={"text": "word " * 2_000}))
    old = datetime.now(UTC) - timedelta(days=10)
    runs.record(finished_run("ten days", created_utc=old))
    assert said("purge")[0] == 2
    monkeypatch.setenv("CLEARHEAD_RETENTION_DAYS", "30")
    assert said("purge")[:2] == (0, "3 runs older than 30 days were deleted\n")
    assert said("purge", "--days", "5", "--vacuum")[1].startswith("1 runs older than 5 days were deleted\n")
    assert len(every(runs)) == 20
    runs.delete_all("a-session")
    status, printed, _ = said("vacuum")
    assert status == 0
    before, after = (int(each.split()[0].replace(",", "")) for each in printed.split("before, "))
    assert after < before
    assert said("purge", "--days", "0")[0] == 2


def test_stats_count_by_day_and_task_and_name_nobody(said: Said, runs: SessionLog) -> None:
    runs.record(
        finished_run("", session_id=with_wish("", keep=False), created_utc=datetime(2026, 5, 2, 23, 59, tzinfo=UTC))
    )
    status, printed, _ = said("stats")
    assert status == 0
    total, _, *days = printed.splitlines()
    assert total.startswith("3 runs of 2 sessions in ")
    assert [day.split() for day in days] == [
        ["2026-05-02", "text-classification", "1", "0", "1"],
        ["2026-05-01", "text-classification", "3", "1", "0"],
    ]
    assert "session" not in "".join(days)


def test_everything_is_exported_without_who_ran_it(said: Said, runs: SessionLog, tmp_path: Path) -> None:
    status, printed, _ = said("export", "--format", "json")
    assert status == 0
    assert [run["id"] for run in json.loads(printed)] == ["a", "b", "c"]
    file = tmp_path / "runs.csv"
    assert said("export", "--output", file)[0] == 0
    with file.open(encoding="utf-8", newline="") as lines:
        exported = list(csv.DictReader(lines))
    assert [run["id"] for run in exported] == ["a", "b", "c"]
    assert json.loads(exported[0]["inputs"]) == {"text": "=naïve"}
    for text in (printed, file.read_text(encoding="utf-8")):
        assert "a-session" not in text
        assert "another-session" not in text


@only_sqlite
@pytest.mark.parametrize("command", [["stats"], ["export"], ["vacuum"], ["purge", "--days", "1"], ["backup", "x"]])
def test_a_wrong_address_is_said_and_no_log_is_made(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, complaint = said(*command)
    assert status == 2
    assert "no session log at" in complaint
    assert list(tmp_path.iterdir()) == []
