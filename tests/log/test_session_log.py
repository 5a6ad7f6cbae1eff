"""The log returns runs as they were written, to their own session alone, and deletes them when asked."""

import contextlib
import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from demo.log.session_log import SessionLog
from demo.log.upkeep import Upkeep, purge
from models.cancellation import only_while
from models.errors import InputError
from tests.log.processes import start_python
from tests.log.runs import failed_run, finished_run


@pytest.fixture
def runs(database_url: str) -> Iterator[SessionLog]:
    log = SessionLog(database_url)
    assert log.lasting
    yield log
    log.close()


def test_a_run_comes_back_as_it_was_written(runs: SessionLog) -> None:
    run = finished_run("a", inputs={"text": "naïve 🙂 שלום \u0000"}, seed=2**32 - 1)
    runs.record(run)
    assert runs.get("a") == run
    assert runs.get("b") is None


def test_a_failed_run_has_no_answer_and_keeps_its_sentence(runs: SessionLog) -> None:
    runs.record(failed_run("a"))
    kept = runs.get("a")
    assert kept is not None
    assert kept.answer is None
    assert kept.error == "The text is empty."


def test_a_session_sees_its_own_runs_newest_first(runs: SessionLog) -> None:
    for run_id in ("first", "second", "third"):
        runs.record(finished_run(run_id))
    runs.record(finished_run("elsewhere", session_id="another-session"))
    assert [run.id for run in runs.for_session("a-session")] == ["third", "second", "first"]
    pages = [[run.id for run in runs.for_session("a-session", 2, skip)] for skip in (0, 2, 4)]
    assert pages == [["third", "second"], ["first"], []]


def test_a_run_is_deleted_only_by_its_own_session(runs: SessionLog) -> None:
    runs.record(finished_run("a"))
    assert not runs.delete("a", "another-session")
    assert runs.get("a") is not None
    assert runs.delete("a", "a-session")
    assert runs.get("a") is None
    assert not runs.delete("a", "a-session")


def test_delete_all_forgets_one_session_and_leaves_the_others(runs: SessionLog) -> None:
    for run_id in ("a", "b"):
        runs.record(finished_run(run_id))
    runs.record(finished_run("c", session_id="another-session"))
    assert runs.delete_all("a-session") == 2
    assert runs.for_session("a-session") == ()
    assert [run.id for run in runs.for_session("another-session")] == ["c"]
    runs.record(finished_run("d"))
    assert [run.id for run in runs.for_session("a-session")] == ["d"]


def test_a_moment_keeps_its_time_zone_and_needs_one(runs: SessionLog) -> None:
    run = finished_run("a")
    runs.record(finished_run("b", created_utc=run.created_utc.astimezone(timezone(timedelta(hours=5)))))
    kept = runs.get("b")
    assert kept is not None
    assert kept.created_utc == run.created_utc
    assert kept.created_utc.utcoffset() == timedelta(0)
    with pytest.raises(Exception, match="without a time zone"):
        runs.record(finished_run("c", created_utc=run.created_utc.replace(tzinfo=None)))


def written_by_many_threads(runs: SessionLog) -> set[str]:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: runs.record(finished_run(str(number))), range(80)))
    return {run.id for run in runs.for_session("a-session")}


def test_a_run_is_written_even_if_its_visitor_has_left(runs: SessionLog) -> None:
    with only_while(lambda: False):
        runs.record(finished_run("left"))
    assert runs.get("left") is not None


def test_many_threads_write_into_one_new_session(runs: SessionLog) -> None:
    assert written_by_many_threads(runs) == {str(number) for number in range(80)}


def test_many_threads_share_a_database_in_memory() -> None:
    runs = SessionLog("sqlite://")
    assert written_by_many_threads(runs) == {str(number) for number in range(80)}
    assert not runs.lasting


_ODD = "NUL \0, half of a character \ud800, 🙂 and \\u0000"


def test_what_a_database_cannot_hold_is_held_all_the_same(runs: SessionLog) -> None:
    runs.record(failed_run("odd", session_id=_ODD, checkpoint=_ODD, parameters={"strategy": _ODD}))
    (kept,) = runs.for_session(_ODD)
    assert kept.parameters == {"strategy": _ODD}
    assert kept.checkpoint == "NUL \\x00, half of a character \\ud800, 🙂 and \\u0000"
    assert runs.get(_ODD) is None
    runs.record(failed_run("again", session_id=_ODD))
    assert runs.delete_all(_ODD) == 2


def test_old_runs_go_a_few_at_a_time(runs: SessionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    now = finished_run("").created_utc
    for days in (40, 35, 31, 29):
        runs.record(finished_run(f"{days} days", created_utc=now - timedelta(days=days)))
    monkeypatch.setattr("demo.log.upkeep._DELETED_AT_ONCE", 2)
    assert purge(runs, 30, now) == 3
    assert [run.id for run in runs.for_session("a-session")] == ["29 days"]
    assert purge(runs, 30, now) == 0


_WRITE = """
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from demo.log.session_log import SessionLog
from tests.log.runs import finished_run
runs = SessionLog(sys.argv[1])
assert runs.lasting, runs.why_not
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda number: runs.record(finished_run(f"{sys.argv[2]}-{number}")), range(100)))
assert runs.recover(), runs.why_not
"""


def test_two_processes_start_on_one_new_database_and_write_into_one_session(database_url: str) -> None:
    writers = [start_python(_WRITE, database_url, name) for name in ("one", "two")]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    runs = SessionLog(database_url)
    written = {run.id for run in runs.for_session("a-session")}
    runs.close()
    assert written == {f"{name}-{number}" for name in ("one", "two") for number in range(100)}


@pytest.mark.parametrize("every", [False, True], ids=["run by run", "all at once"])
def test_what_is_deleted_is_in_no_file_of_the_database_any_more(tmp_path: Path, every: bool) -> None:
    runs, chance = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3"), random.Random(0)

    def text_of(word: str) -> dict[str, str]:
        return {"text": f"{word} " * chance.choice([1, 3, 20, 100, 600])}

    # Runs of all sizes, mixed and partly deleted, so that pages are split, merged and used again.
    for number in range(150):
        session = chance.choice(["mine", "another's"])
        word = {"mine": "marmalade", "another's": "porridge"}[session]
        runs.record(finished_run(f"{number:03}", session_id=session, inputs=text_of(word), answer=text_of(word)))
        if chance.random() < 0.2:
            runs.delete(chance.choice(runs.for_session(session)).id, session)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"marmalade" in content
    if every:
        runs.delete_all("mine")
    else:
        for run in runs.for_session("mine"):
            assert runs.delete(run.id, "mine")
    # Nothing is closed or merged first: this is what anybody who copies the files now would have.
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"marmalade" not in content
    assert b"porridge" in content


def test_what_could_not_be_wiped_at_once_is_wiped_later(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    runs = SessionLog(f"sqlite:///{path}")
    runs.record(finished_run("a", inputs={"text": "marmalade"}))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM runs").fetchone()
        assert runs.delete("a", "a-session")
        assert any(b"marmalade" in file.read_bytes() for file in tmp_path.iterdir())
    Upkeep(runs, None).look()
    assert not any(b"marmalade" in file.read_bytes() for file in tmp_path.iterdir())


def test_upkeep_forgets_old_runs_at_the_start_and_once_a_day(tmp_path: Path) -> None:
    runs, hours = SessionLog(f"sqlite:///{tmp_path}/runs.sqlite3"), [0.0]
    upkeep = Upkeep(runs, retention_days=30, clock=lambda: hours[0] * 3600)
    left = []
    for hour in (0, 23, 25):
        runs.record(finished_run(f"old at {hour}"))
        hours[0] = hour
        upkeep.look()
        left.append([run.id for run in runs.for_session("a-session")])
    assert left == [[], ["old at 23"], []]


def test_a_run_is_shared_only_by_its_own_session_and_keeps_its_key(runs: SessionLog) -> None:
    for run_id in ("a", "b"):
        runs.record(finished_run(run_id))
    for run_id, session_id in (("a", "another-session"), ("a", ""), ("nowhere", "a-session"), ("", "a-session")):
        with pytest.raises(InputError, match="Only a run that this browser made"):
            runs.share(run_id, session_id)
    key = runs.share("a", "a-session")
    assert runs.share("a", "a-session") == key and len(key) >= 32
    assert runs.shared(key) == runs.get("a")
    for other in ("a", "b", key[:-1], key.swapcase(), ""):
        with pytest.raises(InputError, match="deleted, is no longer shared, or belongs to another host"):
            runs.shared(other)


def test_a_run_is_unshared_only_by_its_own_session(runs: SessionLog) -> None:
    runs.record(finished_run("a"))
    key = runs.share("a", "a-session")
    assert not runs.unshare("a", "another-session")
    assert runs.shared(key).id == "a" and runs.shared_of("a-session") == {"a"}
    assert runs.unshare("a", "a-session")
    with pytest.raises(InputError, match="leads to no run"):
        runs.shared(key)
    assert not runs.unshare("a", "a-session") and not runs.shared_of("a-session")
    assert runs.share("a", "a-session") != key


def test_a_key_goes_with_its_run(runs: SessionLog) -> None:
    for run_id in ("a", "b"):
        runs.record(finished_run(run_id))
    keys = {run_id: runs.share(run_id, "a-session") for run_id in ("a", "b")}
    runs.delete("a", "a-session")
    with pytest.raises(InputError):
        runs.shared(keys["a"])
    assert runs.shared(keys["b"]).id == "b"
    runs.delete_all("a-session")
    runs.record(finished_run("b"))
    with pytest.raises(InputError):
        assert runs.shared(keys["b"]), "the key of a forgotten run opens no later one"
