"""`python -m demo.log`: look after the session log, while the demo is running or not."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from demo.log.backup import Refused, back_up, log_file, restore
from demo.log.database import CannotOpen, Database, file_of, open_database
from demo.log.export import write_csv, write_json
from demo.log.repository import RunRepository
from demo.settings import Settings

_PROBLEM = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what cannot be done is said in a sentence."""
    asked = _parser().parse_args(arguments)
    try:
        asked.command(Settings.from_environment(), asked)
    except (Refused, CannotOpen, SQLAlchemyError, OSError, ValueError) as error:
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
    purge = add("purge", _purge, "delete old runs")
    purge.add_argument("--days", type=int, help="older than this; CLEARHEAD_RETENTION_DAYS where it is not given")
    purge.add_argument("--vacuum", action="store_true", help="and make the database smaller")
    add("vacuum", _vacuum, "make the database as small as what it holds")
    add("stats", _stats, "runs by day and task, and the size of the log")
    export = add("export", _export, "all runs, without who ran them")
    export.add_argument("--format", choices=("csv", "json"), default="csv")
    export.add_argument("--output", type=Path, help="a file; without one, they are printed")
    return parser


def _back_up(settings: Settings, asked: argparse.Namespace) -> None:
    print(f"{back_up(settings.database_url, asked.file, asked.replace):,} runs are in {asked.file}")


def _restore(settings: Settings, asked: argparse.Namespace) -> None:
    print(f"the log holds the {restore(settings.database_url, asked.file, asked.replace):,} runs of {asked.file}")


def _purge(settings: Settings, asked: argparse.Namespace) -> None:
    days = settings.retention_days if asked.days is None else asked.days
    if days is None or days < 1:
        raise Refused("say how many days, from 1: --days 30, or CLEARHEAD_RETENTION_DAYS=30")
    with closing(_open(settings)) as database:
        print(f"{RunRepository(database).purge(days):,} runs older than {days} days were deleted")
        database.wipe_deleted()
    if asked.vacuum:
        _vacuum(settings, asked)


def _vacuum(settings: Settings, _asked: argparse.Namespace) -> None:
    with closing(_open(settings)) as database:
        before = database.bytes
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM")
        database.wipe_deleted()
        print(f"{before:,} bytes before, {database.bytes:,} bytes now")


def _stats(settings: Settings, _asked: argparse.Namespace) -> None:
    with closing(_open(settings)) as database:
        runs = RunRepository(database)
        sessions, size, days = runs.sessions(), database.bytes, runs.days()
    print(f"{sum(each.runs - each.not_kept for each in days):,} runs of {sessions:,} sessions in {size:,} bytes")
    print(f"{'day':<12}{'task':<20}{'runs':>8}{'failed':>8}{'not kept':>10}")
    for each in days:
        print(f"{each.day:<12}{each.task:<20}{each.runs:>8,}{each.failed:>8,}{each.not_kept:>10,}")


def _export(settings: Settings, asked: argparse.Namespace) -> None:
    write = {"csv": write_csv, "json": write_json}[asked.format]
    with closing(_open(settings)) as database:
        runs = RunRepository(database).every_run()
        if asked.output is None:
            sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
            write(runs, sys.stdout)
            return
        with asked.output.open("w", encoding="utf-8", newline="") as file:
            write(runs, file)


def _open(settings: Settings) -> Database:
    """The log that is there: a wrong address must not make a new one."""
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite":
        if file_of(url) is None:
            raise Refused("this log is in the memory of the demo's own process")
        log_file(settings.database_url)
    return open_database(settings.database_url)


if __name__ == "__main__":
    sys.exit(main())
