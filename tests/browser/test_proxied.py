"""The page behind nginx, with TLS and under a path of its own: a run, a text as it grows, and the history of both."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.server import serving
from tests.browser.reading import choose_tab, expect_live_answer, fill, press
from tests.proxied import NGINX, OPENSSL, port_of, proxying, readable_by_nginx


@pytest.fixture
def proxied_page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if not (NGINX and OPENSSL):
        pytest.skip("nginx or openssl is not installed")
    folder = readable_by_nginx(tmp_path_factory.mktemp("proxied-page"))
    with (
        serving(folder, CLEARHEAD_ROOT_PATH="/clearhead") as server,
        proxying(folder, port_of(server)) as (_, safe, _certificate),
    ):
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(30_000)
        page.goto(f"{safe}/clearhead/")
        yield page
        page.context.close()


def test_runs_go_through_nginx_under_a_path_of_their_own(proxied_page: Page) -> None:
    page = proxied_page
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
