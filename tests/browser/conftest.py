"""One running app and, for each module, one Chromium; every test ends by looking at what went wrong on its page."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.api.server import Server, serving

Open = Callable[..., Page]

_PATIENCE_MS = 30_000
"""A first run loads its model."""


_ON_LEAVING = ("AbortError: signal is aborted", "Unexpected error Connection errored out")
"""How Gradio says that a page was left for another address while its streams were open."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page")) as running:
        yield running


# While its driver is there, nothing else may run an event loop in this thread: so it goes with the module.
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


@pytest.fixture
def open_page(server: Server, browser: Browser) -> Iterator[Open]:
    """Opens the page in a browser of its own; in the end no console error and no request to another host is left."""
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
                # The word of it may come before that of the new address.
                if not closing:
                    cut.append((message.text, visited))
            else:
                wrong.append(message.text)

        page.on("console", complained)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}") or dialog.dismiss())
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((server.url, "data:", "blob:"))
                else wrong.append(f"left this host: {request.url}")
            ),
        )

    def open_(address: str = "", **options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        watch(page)
        page.goto(address or server.url)
        page.get_by_role("tab", name="Fill the blank").wait_for()
        return page

    yield open_
    closing = True
    for context in contexts:
        context.close()
    assert not wrong + [text for text, visited in cut if len(visited) < 2]


@pytest.fixture
def page(open_page: Open) -> Page:
    return open_page()
