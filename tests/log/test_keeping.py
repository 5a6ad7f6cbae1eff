"""Nothing is written of a visitor who wants no log, and the page goes on all the same."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from demo.log.run import keeps, owner, with_wish
from demo.log.session_log import SessionLog
from demo.log.upkeep import Upkeep, days
from models.errors import InputError
from tests.log.runs import finished_run

UNKEPT = with_wish("a-session", keep=False)


@pytest.fixture
def runs(tmp_path: Path) -> SessionLog:
    log = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3")
    log.record(finished_run("before", created_utc=datetime.now(UTC)))
    return log


def test_a_wish_goes_with_the_session_and_can_be_taken_back() -> None:
    assert keeps("a-session")
    assert not keeps(UNKEPT)
    assert not keeps(with_wish("", keep=False))
    assert with_wish(UNKEPT, keep=False) == UNKEPT
    assert with_wish(UNKEPT, keep=True) == owner(UNKEPT) == owner("a-session") == "a-session"


def test_a_run_that_is_not_to_be_kept_is_counted_and_its_text_is_written_nowhere(
    runs: SessionLog, tmp_path: Path
) -> None:
    text = {"text": "marmalade sandwich"}
    runs.record(finished_run("secret", session_id=UNKEPT, inputs=text, created_utc=datetime.now(UTC)))
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"marmalade" not in content
    assert b"secret" not in content
    assert UNKEPT.encode() not in content
    assert runs._database is not None
    (day,) = days(runs._database)
    assert (day.runs, day.not_kept) == (2, 1)


def test_the_page_can_go_on_from_it_for_an_hour(runs: SessionLog) -> None:
    now = datetime.now(UTC)
    fresh = finished_run("fresh", session_id=UNKEPT, created_utc=now)
    runs.record(fresh)
    runs.record(finished_run("old", session_id=UNKEPT, created_utc=now - timedelta(minutes=61)))
    Upkeep(runs, None).look()
    assert runs.get("fresh") == fresh
    assert runs.get("old") is None
    assert not runs.is_kept("fresh")
    assert runs.is_kept("before")


def test_it_is_in_no_history_and_cannot_be_shared_but_deleted(runs: SessionLog) -> None:
    for run_id in ("first", "second"):
        runs.record(finished_run(run_id, session_id=UNKEPT))
    assert [run.id for run in runs.for_session(UNKEPT)] == ["before"]
    with pytest.raises(InputError):
        runs.share("first", UNKEPT)
    assert not runs.delete("first", "another-session")
    assert runs.delete("first", UNKEPT)
    assert runs.get("first") is None
    assert runs.delete_all(UNKEPT) == 1
    assert runs.get("second") is None
    assert runs.get("before") is None


def test_what_was_kept_before_still_belongs_to_its_visitor(runs: SessionLog) -> None:
    assert runs.share("before", UNKEPT)
    assert runs.unshare("before", UNKEPT)
    assert runs.delete("before", UNKEPT)


def test_it_is_not_written_later_either(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    path.write_text("a diary, not a database")
    runs = SessionLog(f"sqlite:///{path}")
    runs.record(finished_run("secret", session_id=UNKEPT, inputs={"text": "marmalade"}))
    path.unlink()
    assert runs.recover()
    assert not any(b"marmalade" in file.read_bytes() for file in tmp_path.iterdir())
