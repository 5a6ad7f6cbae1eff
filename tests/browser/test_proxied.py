"""Calls and the page through nginx with `deploy/nginx.conf`."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import Browser, expect

from benchmarks.nginx import WHY_NOT, proxying
from tests.api.server import serving
from tests.browser.reading import choose_tab, expect_live_answer, fill, press

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def behind_nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The proxy's addresses, plain and with TLS, in front of an app under a path of its own, and its certificate."""
    folder = tmp_path_factory.mktemp("proxied")
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
