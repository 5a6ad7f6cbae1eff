"""A PostgreSQL server for tests and benchmarks, which nobody else can reach."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def find_server() -> Path | None:
    """The folder of PostgreSQL's programs, the newest of Debian's if there are several; `None` if there is none."""
    there = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)]
    on_path = shutil.which("initdb")
    return there[-1] if there else Path(on_path).parent if on_path else None


def _version(path: Path) -> int:
    return int(path.parts[-3]) if path.parts[-3].isdigit() else 0


@dataclass(frozen=True)
class Postgres:
    """A running server, reached through a Unix socket in its folder."""

    programs: Path
    folder: Path
    user: str | None

    def stop(self) -> None:
        """End every connection at once, as if the machine's power were cut."""
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        # No port is opened: the port's number only names the socket.
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        self._control("start", "-o", options, "-l", str(self.folder / "log"))

    def new_database(self, name: str) -> str:
        """Create an empty database and return its SQLAlchemy URL."""
        with psycopg.connect(host=str(self.folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql+psycopg://tester@/{name}?host={self.folder}"

    def _control(self, *arguments: str) -> None:
        command = [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *arguments]
        done = subprocess.run(  # noqa: S603
            command,
            user=self.user,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin"},
        )
        log = self.folder / "log"
        if done.returncode != 0:
            raise RuntimeError(done.stderr + (log.read_text() if log.exists() else ""))


@contextmanager
def running_postgres(programs: Path) -> Iterator[Postgres]:
    """Run a new, empty server; PostgreSQL refuses to run as root, so root starts it as an unprivileged user."""
    # Not in pytest's folder: that user cannot enter it, and its name is too long for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="clearhead-pg-"))
    user = None
    if os.getuid() == 0:
        user = "postgres" if _is_user("postgres") else "nobody"
        shutil.chown(folder, user)
    server = Postgres(programs, folder, user)
    try:
        subprocess.run(  # noqa: S603
            [str(programs / "initdb"), "-D", str(folder / "data"), "-U", "tester", "-A", "trust", "-E", "UTF8", "-N"],
            user=user,
            cwd=folder,
            check=True,
            capture_output=True,
            env=_ENVIRONMENT,
        )
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_user(name: str) -> bool:
    import pwd  # there is none on Windows, where nothing here is called

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
