"""Whatever happens to the database, runs go on, unreadable files are not overwritten, and the log recovers."""

import contextlib
import logging
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.log.session_log import LogUnavailable, SessionLog
from tests.log.processes import locked_by_another_process, run_python
from tests.log.runs import finished_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite3"


@pytest.fixture
def runs(path: Path) -> Iterator[SessionLog]:
    log = SessionLog(f"sqlite:///{path}")
    log.record(finished_run("before"))
    yield log
    log.close()


def written(path: Path) -> list[str]:
    """The runs that a process which starts now would find."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [run_id for (run_id,) in connection.execute("SELECT id FROM runs ORDER BY number")]


def ids(runs: SessionLog) -> list[str]:
    return [run.id for run in runs.for_session("a-session")]


def test_while_another_process_locks_the_database_runs_wait_and_are_written_later(
    runs: SessionLog, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with locked_by_another_process(path), caplog.at_level(logging.ERROR):
        # That these return at all while the lock is held says that they do not wait for it.
        runs.record(finished_run("during"))
        runs.record(finished_run("during too"))
        assert not runs.lasting
        assert "locked" in runs.why_not
        assert caplog.text.count("runs are not kept") == 1
        assert ids(runs) == ["during too", "during", "before"]
        pages = [[run.id for run in runs.for_session("a-session", 2, skip)] for skip in (0, 1, 2, 3)]
        assert pages == [["during too", "during"], ["during", "before"], ["before"], []]
        assert runs.get("during") == finished_run("during")
        assert not runs.recover()
        assert written(path) == ["before"]
    assert runs.recover()
    assert runs.lasting
    assert runs.why_not == ""
    assert written(path) == ["before", "during", "during too"]
    assert ids(runs) == ["during too", "during", "before"]


def test_while_the_database_is_locked_a_deletion_is_refused_in_words(runs: SessionLog, path: Path) -> None:
    with locked_by_another_process(path):
        with pytest.raises(LogUnavailable, match="try again"):
            runs.delete("before", "a-session")
        with pytest.raises(LogUnavailable):
            runs.delete_all("a-session")
        runs.record(finished_run("during"))
        assert runs.delete("during", "a-session")
    assert runs.recover()
    assert written(path) == ["before"]
    assert runs.delete_all("a-session") == 1
    assert written(path) == []


def test_a_run_deleted_while_it_waits_is_not_written_later(runs: SessionLog, path: Path) -> None:
    with locked_by_another_process(path):
        runs.record(finished_run("mine"))
        runs.record(finished_run("another's", session_id="another-session"))
        assert not runs.delete("mine", "another-session")
        assert runs.delete("mine", "a-session")
    runs.recover()
    assert written(path) == ["before", "another's"]


@pytest.mark.parametrize("also", [(), ("-wal", "-shm")], ids=["the file", "the file and what lies beside it"])
def test_a_file_deleted_while_in_use_is_made_anew_at_once(runs: SessionLog, path: Path, also: tuple[str, ...]) -> None:
    path.unlink()
    for ending in also:
        path.with_name(path.name + ending).unlink()
    runs.record(finished_run("after"))
    assert runs.lasting
    assert written(path) == ["after"]
    assert ids(runs) == ["after"]


_GARBAGE = b"a diary, not a database\n" * 4_000


@pytest.mark.parametrize("start", [0, 100], ids=["all of it", "all but its header"])
def test_a_damaged_file_is_left_as_it_is_and_runs_wait(runs: SessionLog, path: Path, start: int) -> None:
    for number in range(100):
        runs.record(finished_run(str(number)))
    runs.close()
    damaged = path.read_bytes()[:start] + b"\xa5" * (path.stat().st_size - start)
    path.write_bytes(damaged)
    again = SessionLog(f"sqlite:///{path}")
    again.record(finished_run("after"))
    assert not again.lasting
    assert ids(again) == ["after"]
    assert not again.recover()
    again.close()
    assert path.read_bytes() == damaged


def test_a_database_from_a_newer_version_is_left_as_it_is_byte_by_byte(runs: SessionLog, path: Path) -> None:
    runs.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    again = SessionLog(f"sqlite:///{path}")
    again.record(finished_run("after"))
    assert not again.lasting
    assert "newer" in again.why_not
    assert path.read_bytes() == before


_READ_ONLY = """
import os, sys
from pathlib import Path
from demo.log.session_log import SessionLog
from tests.log.runs import finished_run
import sqlalchemy.dialects.sqlite
path = Path(sys.argv[1])
path.parent.chmod(0o555)
for file in path.parent.iterdir():
    file.chmod(0o444)
if os.getuid() == 0:
    # Nothing is read-only for root.
    os.setgid(65534)
    os.setuid(65534)
runs = SessionLog(f"sqlite:///{path}")
runs.record(finished_run("after"))
print(runs.lasting, [run.id for run in runs.for_session("a-session")][0], runs.why_not)
"""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no permissions here")
@pytest.mark.parametrize("there", [True, False], ids=["with a database", "empty"])
def test_a_read_only_folder_stops_nobody(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir()
    path = folder / "runs.sqlite3"
    if there:
        log = SessionLog(f"sqlite:///{path}")
        log.record(finished_run("before"))
        log.close()
    for above in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        above.chmod(0o755)
    before = path.read_bytes() if there else b""
    try:
        said = run_python(_READ_ONLY, str(path))
    finally:
        folder.chmod(0o755)
    assert said.startswith("False after ")
    assert len(said.split()) > 3, "the host hears why"
    assert (path.read_bytes() if there else b"") == before


_FULL = """
import sys
from demo.log.session_log import SessionLog
from tests.log.runs import finished_run
{limit}
runs = SessionLog(f"sqlite:///{{sys.argv[1]}}")
number = 0
while runs.lasting or runs.recover():
    runs.record(finished_run(str(number), inputs={{"text": "so much to say " * 200}}))
    number += 1
    assert number < 5_000
print(runs.why_not, file=sys.stderr)
assert runs.get(str(number - 1)) is not None
runs.record(finished_run("while full"))
assert not runs.lasting
{relief}
assert runs.recover() and runs.lasting
print(number)
"""


def test_a_full_disk_stops_nobody_and_nothing_is_lost(path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))"
    relief = "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    pytest.importorskip("resource", reason="file sizes cannot be limited here")
    number = int(run_python(_FULL.format(limit=limit, relief=relief), str(path)))
    assert written(path) == [*map(str, range(number)), "while full"]


def test_a_full_file_system_stops_nobody_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    made = (
        subprocess.run(  # noqa: S603
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if hasattr(os, "getuid")
        else None
    )
    if made is None or made.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    try:
        ballast = folder / "ballast"
        ballast.write_bytes(b"\0" * 300_000)
        relief = f"from pathlib import Path; Path({str(ballast)!r}).unlink()"
        number = int(run_python(_FULL.format(limit="", relief=relief), str(folder / "runs.sqlite3")))
        assert written(folder / "runs.sqlite3") == [*map(str, range(number)), "while full"]
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607


def test_a_run_that_no_database_takes_does_not_hold_up_the_others(runs: SessionLog, path: Path) -> None:
    with locked_by_another_process(path):
        runs.record(finished_run("good"))
        runs.record(finished_run("impossible", parameters={"not": object()}))
        runs.record(finished_run("good too"))
    assert runs.recover()
    assert written(path) == ["before", "good", "good too"]
