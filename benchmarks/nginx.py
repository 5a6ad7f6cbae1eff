"""Run nginx with `deploy/nginx.conf`, on free ports and with a temporary certificate."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.visitors import ROOT, free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
OPENSSL = shutil.which("openssl")
WHY_NOT = "" if NGINX and OPENSSL else "nginx or openssl is not installed"
"""Why nginx cannot be run here; empty if it can."""

_FIRST_PORT = 7860
_STARTS_WITHIN_S = 10.0


def configuration(folder: Path, app_ports: Sequence[int], plain_port: int, tls_port: int) -> Path:
    """Write nginx's configuration: `deploy/nginx.conf`, with this machine's ports and paths in place of the host's."""
    shown = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for port in range(_FIRST_PORT + 2, _FIRST_PORT + len(app_ports)):
        shown = _with_process(shown, port)
    changes: dict[str, str | Callable[[re.Match[str]], str]] = {
        r"\b786\d\b": lambda port: str(app_ports[int(port[0]) - _FIRST_PORT]),
        r"_786\d\b": lambda port: f"_{app_ports[int(port[0][1:]) - _FIRST_PORT]}",
        r"listen \[::\]:\d+[^;]*;": "",
        r"listen 80;": f"listen 127.0.0.1:{plain_port};",
        r"listen 443 ssl": f"listen 127.0.0.1:{tls_port} ssl",
        r"/etc/letsencrypt/live/example\.org/": f"{folder}/",
    }
    for old, new in changes.items():
        shown, times = re.subn(old, new, shown)
        if not times:
            raise RuntimeError(f"deploy/nginx.conf has no {old}")
    path = folder / "nginx.conf"
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy"))
    path.write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\n{temporary}{shown}}}\n",
        encoding="utf-8",
    )
    return path


def _with_process(shown: str, port: int) -> str:
    """The configuration with one more process, in the places that its comments name."""
    home = r"(upstream clearhead%s \{\n[^}]*)(\})"
    shown, anywhere = re.subn(home % "", rf"\1    server 127.0.0.1:{port} max_fails=0;\n\2", shown)
    shown, backups = re.subn(home % r"_\d+", rf"\1    server 127.0.0.1:{port} max_fails=0 backup;\n\2", shown)
    (first,) = re.findall(rf"upstream clearhead_{_FIRST_PORT} \{{[^}}]*\}}\n", shown)
    # The two ports change places, so that this process is the first choice here and the first process the backup.
    own = re.sub(
        rf"{_FIRST_PORT}|{port}", lambda each: str({_FIRST_PORT: port, port: _FIRST_PORT}[int(each[0])]), first
    )
    last = f"    {port - 1} clearhead_{port - 1};\n"
    shown, mapped = re.subn(last, f"{last}    {port} clearhead_{port};\n", shown)
    if (anywhere, backups, mapped) != (1, port - _FIRST_PORT, 1):
        raise RuntimeError("deploy/nginx.conf has another form")
    return f"{own}\n{shown}"


def readable_by_nginx(folder: Path) -> Path:
    """Return `folder`, opened to the user that nginx's workers run as if root starts it: it holds their files."""
    if sys.platform != "win32" and os.getuid() == 0:
        ours = Path(tempfile.gettempdir())
        for each in (folder, *folder.parents):
            if each == ours or not each.is_relative_to(ours):
                break
            each.chmod(0o755)
    return folder


@contextmanager
def proxying(folder: Path, *app_ports: int) -> Iterator[tuple[str, str, Path]]:
    """Run nginx in front of the apps at `app_ports`; yield its HTTP and HTTPS addresses and its certificate.

    With one app alone, nothing listens at the second port of the configuration.
    """
    if not (NGINX and OPENSSL):
        raise RuntimeError(WHY_NOT)
    folder = readable_by_nginx(folder)
    certificate = folder / "fullchain.pem"
    subprocess.run(  # noqa: S603
        [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-out", str(certificate), "-keyout", str(folder / "privkey.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    plain_port, tls_port = free_port(), free_port()
    ports = app_ports if len(app_ports) > 1 else (*app_ports, free_port())
    given = ["-p", str(folder), "-c", str(configuration(folder, ports, plain_port, tls_port))]
    # Until it has read its configuration, nginx writes to a log in a system folder.
    given += ["-e", str(folder / "error.log")]
    checked = subprocess.run([NGINX, "-t", *given], capture_output=True, text=True)  # noqa: S603
    if checked.returncode != 0:
        raise RuntimeError(checked.stderr)
    process = subprocess.Popen([NGINX, *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait_for(f"http://127.0.0.1:{plain_port}/")
        yield f"http://localhost:{plain_port}", f"https://localhost:{tls_port}", certificate
    finally:
        process.terminate()
        process.wait()


def _wait_for(url: str) -> None:
    ends = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < ends:
        try:
            httpx.get(url, timeout=5)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError("nginx did not answer")
