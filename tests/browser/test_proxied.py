"""Behind nginx with `deploy/nginx.conf`, on free ports and with a certificate made for the test: calls and the page."""

import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import Browser, expect

from tests.api.server import ROOT, free_port, serving
from tests.browser.reading import choose_tab, expect_live_answer, fill, press

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
OPENSSL = shutil.which("openssl")
_STARTS_WITHIN_S = 10.0


def configuration(folder: Path, app_port: int, plain_port: int, tls_port: int) -> Path:
    """The file for nginx: what hosts are shown, with this machine's ports and paths in the place of theirs."""
    shown = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    changes = {
        r"127\.0\.0\.1:7860": f"127.0.0.1:{app_port}",
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
def proxying(folder: Path, app_port: int) -> Iterator[tuple[str, str, Path]]:
    """The proxy's addresses, plain and with TLS, in front of the app at `app_port`, and its certificate."""
    assert NGINX
    assert OPENSSL
    certificate = folder / "fullchain.pem"
    subprocess.run(  # noqa: S603
        [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-out", str(certificate), "-keyout", str(folder / "privkey.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    plain_port, tls_port = free_port(), free_port()
    given = ["-p", str(folder), "-c", str(configuration(folder, app_port, plain_port, tls_port))]
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


@pytest.fixture(scope="module")
def behind_nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The proxy's addresses, plain and with TLS, in front of an app under a path of its own, and its certificate."""
    if not (NGINX and OPENSSL):
        pytest.skip("nginx or openssl is not installed")
    folder = readable_by_nginx(tmp_path_factory.mktemp("proxied"))
    told_by_host = {"CLEARHEAD_ROOT_PATH": "/clearhead", "CLEARHEAD_HOST_PASSWORD": "a password"}
    with serving(folder, **told_by_host) as server:
        app_port = int(server.url.rstrip("/").rsplit(":", 1)[1])
        with proxying(folder, app_port) as addresses:
            yield addresses


def test_a_run_goes_through_nginx_under_a_path_of_its_own(behind_nginx: tuple[str, str, Path]) -> None:
    plain, safe, certificate = behind_nginx
    moved = httpx.get(f"{plain}/clearhead/")
    assert moved.status_code == 301
    assert moved.headers["location"].startswith("https://")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(verify=trusted, timeout=60) as browser:
        page = browser.get(f"{safe}/clearhead/")
        assert f'"root":"{safe}/clearhead"' in page.text
        assert page.headers["content-encoding"] == "br"
        older = browser.get(f"{safe}/clearhead/", headers={"Accept-Encoding": "gzip"})
        assert older.headers["content-encoding"] == "gzip"
        assert page.headers["strict-transport-security"]
        assert "nonce-" in page.headers["content-security-policy"]
        assert browser.get(f"{safe}/clearhead/healthz").text == "alive"
        assert browser.get(f"{safe}/clearhead/host").status_code == 401
        assert browser.get(f"{safe}/host").status_code == 404
    client = Client(f"{safe}/clearhead/", ssl_verify=str(certificate), verbose=False, analytics_enabled=False)
    answer = client.predict(text="A quiet, generous film.", api_name="/sentiment")
    (run,) = client.predict(api_name="/session_runs")
    assert run["id"] == answer["run_id"]


def test_tokens_pass_nginx_one_by_one(behind_nginx: tuple[str, str, Path]) -> None:
    _, safe, certificate = behind_nginx
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(verify=trusted, timeout=60) as browser:
        address = f"{safe}/clearhead/gradio_api/call/completion"
        data = ["Once upon a time", 20, "greedy", 0.8, 50, 0.95, 4, 0, ""]
        event = browser.post(address, json={"data": data}).raise_for_status().json()["event_id"]
        with browser.stream("GET", f"{address}/{event}") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert "content-encoding" not in answer.headers
            assert "event: complete" in list(answer.iter_lines())


def test_the_page_runs_writes_and_keeps_a_history_behind_nginx(
    behind_nginx: tuple[str, str, Path], browser: Browser
) -> None:
    page = browser.new_context(ignore_https_errors=True).new_page()
    page.set_default_timeout(90_000)
    page.goto(f"{behind_nginx[1]}/clearhead/")
    panel = choose_tab(page, "Sentiment")
    fill(panel, "Your text", "I loved every minute of this wonderful film.")
    press(panel, "Read it")
    expect_live_answer(panel)
    panel = choose_tab(page, "Write on")
    fill(panel, "The beginning of your text", "The lamp was lit")
    press(panel, "Write on")
    expect_live_answer(panel)
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_role("list", name="Runs, newest first").get_by_role("listitem")).to_have_count(2)
    page.context.close()
