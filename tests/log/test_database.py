"""The database opens ready for use, and one that cannot be opened does not stop the demo."""

import sqlite3
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from benchmarks.postgres import Postgres
from demo.log.database import CannotOpen, Database, migrate, open_database, revision_in
from demo.log.run import with_wish
from demo.log.session_log import SessionLog
from tests.log.runs import finished_run


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def pragma(database: Database, name: str) -> object:
    with database.engine.connect() as connection:
        return connection.execute(text(f"PRAGMA {name}")).scalar()


def test_every_connection_has_wal_foreign_keys_and_patience(tmp_path: Path) -> None:
    opened = open_database(url_of(tmp_path / "runs.sqlite3"))
    with opened.engine.connect(), opened.engine.connect() as second:
        assert second.execute(text("PRAGMA foreign_keys")).scalar() == 1
    assert pragma(opened, "journal_mode") == "wal"
    assert pragma(opened, "busy_timeout") == 1_000
    assert pragma(opened, "synchronous") == 1
    assert pragma(opened, "secure_delete") == 1


def test_a_run_without_a_session_is_refused_by_the_foreign_key(tmp_path: Path) -> None:
    SessionLog(url_of(tmp_path / "runs.sqlite3")).record(finished_run("a"))
    opened = open_database(url_of(tmp_path / "runs.sqlite3"))
    with pytest.raises(Exception, match="FOREIGN KEY"), opened.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET session_id = 'nobody'"))
    with opened.engine.begin() as connection:
        connection.execute(text("DELETE FROM sessions"))
        assert connection.execute(text("SELECT count(*) FROM runs")).scalar() == 0


def test_the_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    assert SessionLog(url_of(tmp_path / "some" / "where" / "runs.sqlite3")).lasting
    assert (tmp_path / "some" / "where" / "runs.sqlite3").exists()


_FIRST = """
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
INSERT INTO alembic_version VALUES ('0001');
CREATE TABLE sessions (id VARCHAR(64) NOT NULL, created_utc DATETIME NOT NULL, PRIMARY KEY (id));
CREATE TABLE runs (
    number INTEGER NOT NULL, id VARCHAR(32) NOT NULL, session_id VARCHAR(64) NOT NULL, task VARCHAR(32) NOT NULL,
    checkpoint TEXT NOT NULL, revision TEXT NOT NULL, license TEXT NOT NULL, inputs JSON NOT NULL,
    parameters JSON NOT NULL, seed BIGINT, answer JSON, duration_ms DOUBLE NOT NULL, error TEXT,
    created_utc DATETIME NOT NULL,
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE, PRIMARY KEY (number), UNIQUE (id)
);
CREATE INDEX ix_runs_session_id_number ON runs (session_id, number);
INSERT INTO sessions VALUES ('a-session', '2026-01-01 00:00:00.000000');
INSERT INTO runs VALUES (
    1, 'old', 'a-session', 'text-classification', 'clearhead-sentiment', '0123456789ab', 'MIT', '{"text": "lovely"}',
    '{}', NULL, NULL, 12.5, 'The text is empty.', '2026-01-01 00:00:00.000000'
);
"""

_SHARED = """
UPDATE alembic_version SET version_num = '0002';
CREATE TABLE shared_runs (
    "key" VARCHAR(64) NOT NULL, run_id VARCHAR(32) NOT NULL, created_utc DATETIME NOT NULL,
    FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, PRIMARY KEY ("key"), UNIQUE (run_id)
);
INSERT INTO shared_runs VALUES ('old key', 'old', '2026-01-01 00:00:00.000000');
"""

EARLIER_RELEASES = {"0001": _FIRST, "0002": _FIRST + _SHARED}
"""The statements, for SQLite, that made and filled the tables of each earlier revision."""


@pytest.mark.parametrize("revision", EARLIER_RELEASES)
def test_a_database_of_an_earlier_release_opens_with_all_that_it_holds(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "runs.sqlite3"
    connection = sqlite3.connect(path)
    connection.executescript(EARLIER_RELEASES[revision])
    connection.close()
    runs = SessionLog(url_of(path))
    assert runs.lasting
    assert (runs.share("old", "a-session") == "old key") == (revision == "0002")
    runs.record(finished_run("new"))
    runs.record(finished_run("not kept", session_id=with_wish("", keep=False)))
    assert [run.id for run in runs.for_session("a-session")] == ["new", "old"]
    runs.close()
    assert revision_in(path) == "0003"


def test_migrating_again_changes_nothing_and_loses_nothing(database_url: str) -> None:
    runs = SessionLog(database_url)
    runs.record(finished_run("a"))
    runs.close()
    opened = open_database(database_url)
    migrate(opened.engine)
    opened.close()
    again = SessionLog(database_url)
    assert again.lasting
    assert again.get("a") is not None
    again.close()


def test_a_servers_database_from_a_newer_version_is_left_alone(database_url: str) -> None:
    opened = open_database(database_url)
    with opened.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    opened.close()
    with pytest.raises(CannotOpen, match="9999"):
        open_database(database_url)


def test_a_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    SessionLog(url_of(path)).record(finished_run("a"))
    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


def test_a_missing_driver_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CannotOpen, match=r"psycopg is not installed.*requirements-postgres\.txt"):
        open_database("postgresql+psycopg://somebody@/nowhere")


def test_a_server_that_went_away_and_came_back_gets_the_runs_of_meanwhile(postgres: Postgres) -> None:
    runs = SessionLog(postgres.new_database("comes-back"))
    runs.record(finished_run("before"))
    postgres.stop()
    try:
        runs.record(finished_run("during"))
        assert not runs.lasting
        assert [run.id for run in runs.for_session("a-session")] == ["during"]
        assert not runs.recover()
    finally:
        postgres.start()
    assert runs.recover()
    assert [run.id for run in runs.for_session("a-session")] == ["during", "before"]
    runs.close()


def test_a_folder_that_cannot_be_made_does_not_stop_the_demo(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert not SessionLog(url_of(tmp_path / "file" / "runs.sqlite3")).lasting


@pytest.mark.parametrize("url", ["not a url", "nosuchdatabase://x/y"])
def test_an_address_that_names_no_database_does_not_stop_the_demo(url: str) -> None:
    assert not SessionLog(url).lasting
