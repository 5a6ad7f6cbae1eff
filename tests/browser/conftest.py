"""One running app and, for each module, one Chromium; closing a page checks that nothing went wrong on it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.api.server import Server, serving

Open = Callable[..., Page]

_PATIENCE_MS = 90_000
"""A first run loads its model, and three browsers may share two busy cores. Benchmarks measure the page's speed."""


_ON_LEAVING = ("AbortError: signal is aborted", "Unexpected error Connection errored out")
"""Gradio's console errors when a page is left for another address while its streams are open."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page")) as running:
        yield running


# Playwright's driver bars other event loops from this thread, so it ends with the module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium here")
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@contextmanager
def opening(server: Server, browser: Browser) -> Iterator[Open]:
    """Yield a function that opens the page in a new context; fail at the end on console errors or foreign requests."""
    wrong: list[str] = []
    contexts = []
    cut: list[tuple[str, list[str]]] = []
    closing = False

    def watch(page: Page) -> None:
        visited: list[str] = []
        page.on("framenavigated", lambda frame: visited.append(frame.url) if frame == page.main_frame else None)

        def complained(message: ConsoleMessage) -> None:
            if message.type != "error":
                return
            if message.text.startswith(_ON_LEAVING):
                # This error may be reported before the new address, so it is judged at the end.
                if not closing:
                    cut.append((message.text, visited))
            else:
                wrong.append(message.text)

        page.on("console", complained)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}") or dialog.dismiss())
        ours = (server.url, "data:", "blob:")
        page.on("request", lambda each: None if each.url.startswith(ours) else wrong.append(f"went off: {each.url}"))

    def open_(address: str = "", **options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        watch(page)
        page.goto(address or server.url)
        # In a lecture the tabs are attached, but hidden.
        tab = page.locator("#tab-fill-mask-button").first
        tab.wait_for(state="attached" if "lecture=" in address else "visible")
        return page

    yield open_
    closing = True
    for context in contexts:
        context.close()
    assert not wrong + [text for text, visited in cut if len(visited) < 2]


@pytest.fixture
def open_page(server: Server, browser: Browser) -> Iterator[Open]:
    with opening(server, browser) as open_:
        yield open_


@pytest.fixture(scope="class")
def page(server: Server, browser: Browser) -> Iterator[Page]:
    """A page that the tests of a class share: they keep to tabs of their own, or continue from one another.

    Opening a page takes longer than most of them.
    """
    with opening(server, browser) as open_:
        yield open_()
