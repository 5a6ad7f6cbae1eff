"""`python -m demo.log`: look after the session log, while the demo is running or not."""

import argparse
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from demo.log.database import (
    CannotOpen,
    Database,
    connect_reading,
    file_of,
    open_database,
    require_known,
    revision_in,
)
from demo.log.export import write_csv, write_json
from demo.log.upkeep import days, every_run, purge, sessions
from demo.settings import Settings

_PROBLEM = 2
_PATIENCE_S = 30


class CommandRefused(Exception):
    """A command that would lose data or cannot be carried out; the message says what to do instead."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; an error is printed as one sentence and returns 2."""
    asked = _parser().parse_args(arguments)
    try:
        asked.command(Settings.from_environment(), asked)
    except (CommandRefused, CannotOpen, SQLAlchemyError, OSError, ValueError) as error:
        print(f"python -m demo.log {asked.name}: {getattr(error, 'orig', None) or error}", file=sys.stderr)
        return _PROBLEM
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo.log", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="name")

    def add(name: str, command: Callable[[Settings, argparse.Namespace], None], help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help)
        added.set_defaults(command=command)
        return added

    for copying in (
        add("backup", _back_up, "copy the log into a file"),
        add("restore", _restore, "put a copy in the place of the log"),
    ):
        copying.add_argument("file", type=Path)
        copying.add_argument("--replace", action="store_true", help="also where something is there already")
    purging = add("purge", _purge, "delete old runs")
    purging.add_argument("--days", type=int, help="older than this; CLEARHEAD_RETENTION_DAYS where it is not given")
    purging.add_argument("--vacuum", action="store_true", help="and make the database smaller")
    add("vacuum", _vacuum, "make the database as small as what it holds")
    add("stats", _stats, "runs by day and task, and the size of the log")
    exporting = add("export", _export, "all runs, without who ran them")
    exporting.add_argument("--format", choices=("csv", "json"), default="csv")
    exporting.add_argument("--output", type=Path, help="a file; without one, they are printed")
    return parser


def _back_up(settings: Settings, asked: argparse.Namespace) -> None:
    """Copy an SQLite log into a file, while the demo is running or not."""
    path, copy = _file_that_is_there(settings), asked.file
    if copy.exists() and not asked.replace:
        raise CommandRefused(f"{copy} is there already; give another name, or --replace")
    revision_in(path)
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    with closing(connect_reading(path)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        # Without a write-ahead log, one file is the whole copy.
        target.execute("PRAGMA journal_mode = DELETE")
        (runs,) = target.execute("SELECT count(*) FROM runs").fetchone()
    part.replace(copy)
    print(f"{runs:,} runs are in {copy}")


def _restore(settings: Settings, asked: argparse.Namespace) -> None:
    """Replace an SQLite log by a copy; a log that cannot be read is renamed, not lost."""
    copy = asked.file
    if not copy.is_file():
        raise CommandRefused(f"there is no file {copy}")
    runs = _runs_in(copy)
    if runs is None:
        raise CannotOpen(f"{copy} holds no session log")
    path = _file(settings)
    try:
        there = _runs_in(path) if path.exists() else 0
    except CannotOpen as error:
        if not asked.replace:
            raise CommandRefused(f"{error}; --replace puts it aside and the copy in its place") from error
        _put_aside(path)
    else:
        if there and not asked.replace:
            raise CommandRefused(f"the log holds {there:,} runs; --replace puts the copy in their place")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    with closing(connect_reading(copy)) as source, closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as target:
        # In one transaction: a concurrent reader sees either the old or the new runs.
        source.backup(target)
    open_database(settings.database_url).close()
    print(f"the log holds the {runs:,} runs of {copy}")


def _runs_in(path: Path) -> int | None:
    """The number of runs in a database, `None` without tables; raises `CannotOpen` for one that cannot be read here."""
    revision = revision_in(path)
    if revision is None:
        return None
    require_known(revision)
    with closing(connect_reading(path)) as connection:
        try:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            (runs,) = connection.execute("SELECT count(*) FROM runs").fetchone()
        except sqlite3.DatabaseError as error:
            raise CannotOpen(f"{path} cannot be read: {error}") from error
    if verdict != "ok":
        raise CannotOpen(f"{path} is damaged: {verdict}")
    return int(runs)


def _put_aside(path: Path) -> None:
    moment = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for ending in ("", "-wal", "-shm"):
        part = path.with_name(path.name + ending)
        if part.exists():
            part.rename(path.with_name(f"{path.name}.unreadable-{moment}{ending}"))


def _purge(settings: Settings, asked: argparse.Namespace) -> None:
    old = settings.retention_days if asked.days is None else asked.days
    if old is None or old < 1:
        raise CommandRefused("say how many days, from 1: --days 30, or CLEARHEAD_RETENTION_DAYS=30")
    with closing(_open(settings)) as database:
        print(f"{purge(database, old):,} runs older than {old} days were deleted")
        database.wipe_deleted()
    if asked.vacuum:
        _vacuum(settings, asked)


def _vacuum(settings: Settings, _asked: argparse.Namespace) -> None:
    with closing(_open(settings)) as database:
        before = database.bytes
        database.rewrite()
        print(f"{before:,} bytes before, {database.bytes:,} bytes now")


def _stats(settings: Settings, _asked: argparse.Namespace) -> None:
    with closing(_open(settings)) as database:
        found = days(database)
        runs = sum(each.runs - each.not_kept for each in found)
        print(f"{runs:,} runs of {sessions(database):,} sessions in {database.bytes:,} bytes")
    print(f"{'day':<12}{'task':<20}{'runs':>8}{'failed':>8}{'not kept':>10}")
    for each in found:
        print(f"{each.day:<12}{each.task:<20}{each.runs:>8,}{each.failed:>8,}{each.not_kept:>10,}")


def _export(settings: Settings, asked: argparse.Namespace) -> None:
    write = {"csv": write_csv, "json": write_json}[asked.format]
    with closing(_open(settings)) as database:
        runs = every_run(database)
        if asked.output is None:
            sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
            write(runs, sys.stdout)
            return
        with asked.output.open("w", encoding="utf-8", newline="") as file:
            write(runs, file)


def _open(settings: Settings) -> Database:
    """Open the existing log: a wrong address must not create a new one."""
    if make_url(settings.database_url).get_backend_name() == "sqlite":
        _file_that_is_there(settings)
    return open_database(settings.database_url)


def _file_that_is_there(settings: Settings) -> Path:
    path = _file(settings)
    if not path.exists():
        raise CommandRefused(f"there is no session log at {path}")
    return path


def _file(settings: Settings) -> Path:
    url = make_url(settings.database_url)
    path = file_of(url)
    if path is None and url.get_backend_name() == "sqlite":
        raise CommandRefused("this log is in the memory of the demo's own process")
    if path is None:
        raise CommandRefused(f"{url.get_backend_name()} has its own ways for this, such as pg_dump and pg_restore")
    return path


if __name__ == "__main__":
    sys.exit(main())
