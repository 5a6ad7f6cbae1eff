"""nginx with `deploy/nginx.conf`, on free ports and with a certificate made for the test."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.api.server import ROOT, free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
OPENSSL = shutil.which("openssl")
_STARTS_WITHIN_S = 10.0


def configuration(folder: Path, app_ports: tuple[int, int], plain_port: int, tls_port: int) -> Path:
    """The file for nginx: what hosts are shown, with this machine's ports and paths in the place of theirs."""
    shown = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    changes: dict[str, str | Callable[[re.Match[str]], str]] = {
        "786[01]": lambda port: str(app_ports[int(port[0]) - 7860]),
        r"listen \[::\]:\d+[^;]*;": "",
        r"listen 80;": f"listen 127.0.0.1:{plain_port};",
        r"listen 443 ssl": f"listen 127.0.0.1:{tls_port} ssl",
        r"/etc/letsencrypt/live/example\.org/": f"{folder}/",
    }
    for old, new in changes.items():
        shown, times = re.subn(old, new, shown)
        assert times, f"deploy/nginx.conf has no {old}"
    path = folder / "nginx.conf"
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy"))
    path.write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\n{temporary}{shown}}}\n",
        encoding="utf-8",
    )
    return path


def readable_by_nginx(folder: Path) -> Path:
    """`folder`, opened to the user that nginx works as where root starts it, who has temporary files in it."""
    if sys.platform != "win32" and os.getuid() == 0:
        ours = Path(tempfile.gettempdir())
        for each in (folder, *folder.parents):
            if each == ours or not each.is_relative_to(ours):
                break
            each.chmod(0o755)
    return folder


@contextmanager
def proxying(folder: Path, first: int, second: int | None = None) -> Iterator[tuple[str, str, Path]]:
    """The proxy's addresses, plain and with TLS, in front of apps at these ports, and its certificate.

    Without a second app nobody listens at the second address of the file. Skips where a program is not installed.
    """
    if not (NGINX and OPENSSL):
        pytest.skip("nginx or openssl is not installed")
    folder = readable_by_nginx(folder)
    certificate = folder / "fullchain.pem"
    subprocess.run(  # noqa: S603
        [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-out", str(certificate), "-keyout", str(folder / "privkey.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    plain_port, tls_port = free_port(), free_port()
    given = ["-p", str(folder), "-c", str(configuration(folder, (first, second or free_port()), plain_port, tls_port))]
    # Before it has read its own file, nginx writes to a log of the system's.
    given += ["-e", str(folder / "error.log")]
    checked = subprocess.run([NGINX, "-t", *given], capture_output=True, text=True)  # noqa: S603
    assert checked.returncode == 0, checked.stderr
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
    raise AssertionError("nginx did not answer")
