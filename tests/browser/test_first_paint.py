"""What a visitor sees before Gradio's JavaScript has come, and that it gives way to the page."""

import pytest
from playwright.sync_api import Browser, expect

from tests.api.server import Server
from tests.browser.conftest import Open

_LIGHT, _DARK = "rgb(250, 250, 248)", "rgb(19, 20, 23)"


@pytest.mark.parametrize(
    ("system", "kept", "ground"), [("light", None, _LIGHT), ("dark", None, _DARK), ("light", "dark", _DARK)]
)
def test_the_masthead_stands_in_the_pages_colours_before_any_script_file(
    server: Server, browser: Browser, system: str, kept: str | None, ground: str
) -> None:
    with browser.new_context(color_scheme=system, viewport={"width": 390, "height": 844}) as context:  # type: ignore[arg-type]
        page = context.new_page()
        if kept:
            page.add_init_script(f"localStorage.setItem('clearhead-theme', '{kept}')")
        page.route("**/assets/*.js", lambda route: route.abort())
        page.goto(server.url)
        expect(page.get_by_role("heading", name="Clearhead", level=1)).to_be_in_viewport()
        expect(page.get_by_text("see what a Transformer reads")).to_be_in_viewport(ratio=1)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_pages_own_masthead_takes_its_place_without_a_move(
    server: Server, browser: Browser, open_page: Open, width: int
) -> None:
    screen = {"width": width, "height": 800}
    with browser.new_context(viewport=screen) as context:  # type: ignore[arg-type]
        early = context.new_page()
        early.route("**/assets/*.js", lambda route: route.abort())
        early.goto(server.url)
        first = early.get_by_role("heading", name="Clearhead", level=1).bounding_box()
    page = open_page(viewport=screen)
    heading = page.get_by_role("heading", name="Clearhead", level=1)
    expect(heading).to_have_count(1)
    expect(page.locator(".first-paint")).to_be_hidden()
    assert heading.bounding_box() == pytest.approx(first, abs=2)
