"""Visitors who wait for a model read their place in line, on each kind of tab; closing a page frees its model."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from models.errors import Stopped
from tests.api.server import Server, serving, slowed
from tests.browser.reading import choose_tab, fill, press
from tests.web.calls import LONG_TEXT, called

_SLOW: list[Any] = [LONG_TEXT, 8, ""]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with one run at a time."""
    with serving(tmp_path_factory.mktemp("line"), CLEARHEAD_CONCURRENCY="1") as running:
        yield running


class TestPlaceInLine:
    @pytest.mark.parametrize(
        ("tab", "button"),
        [
            ("Sentiment", "Read it"),
            ("Write on", "Write on"),
            ("Inside", "Look inside"),
        ],
    )
    def test_the_place_in_line_is_said_in_words(self, server: Server, page: Page, tab: str, button: str) -> None:
        page.get_by_role("tab", name=tab).click()
        panel = page.get_by_role("tabpanel").filter(visible=True)
        expect(panel.get_by_role("button", name=button, exact=True)).to_be_visible()
        others = [f"visitor {number} before {tab}" for number in range(6)]
        before = [called(server, "translation", _SLOW, session).json()["event_id"] for session in others]
        press(panel, button)
        in_line = panel.get_by_text(re.compile(r"You are (next|\w+ of \d+) in line"))
        expect(in_line.first).to_be_visible()
        for session, event_id in zip(others, before, strict=True):
            body = {"session_hash": session, "fn_index": _translation(server), "event_id": event_id}
            httpx.post(f"{server.url}gradio_api/cancel", json=body, timeout=60).raise_for_status()
        expect(panel.get_by_text(re.compile("in line"))).to_have_count(0)

    def test_a_page_that_is_closed_frees_the_model_and_its_run_says_so(self, server: Server, page: Page) -> None:
        panel = choose_tab(page, "Translate")
        fill(panel, "Your English text", _SLOW[0])
        panel.get_by_label("number input for Beams").fill("8")
        visitor = page.context
        with slowed(server):
            press(panel, "Translate")
            expect(panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
            page.close()
        again = visitor.new_page()
        again.goto(server.url)
        again.get_by_role("tab", name="History").click()
        expect(again.get_by_role("list", name="Runs")).to_contain_text(Stopped.SENTENCE)


def _translation(server: Server) -> int:
    functions = httpx.get(f"{server.url}config", timeout=60).json()["dependencies"]
    (number,) = [each["id"] for each in functions if each["api_name"] == "translation"]
    return int(number)
