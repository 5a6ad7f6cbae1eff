"""Two apps on one PostgreSQL, and a visitor whom the proxy sends first to one, then to the other."""

import time
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from playwright.sync_api import Browser, Locator, Page, expect

from benchmarks.postgres import find_server, running_postgres
from tests.api.server import Server, serving
from tests.browser.conftest import opening
from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, press, settle

_PATIENCE_S = 10.0
"""Two seconds are promised; a machine that is busy with other tests may need more."""


def read(page: Page, text: str) -> Locator:
    """The panel of a sentiment that was answered and whose attention is drawn."""
    panel = choose_tab(page, "Sentiment")
    fill(panel, "Your text", text)
    press(panel, "Read it")
    expect_live_answer(panel)
    expect_heatmap(panel)
    return panel


def same_visitor(page: Page, elsewhere: Server) -> Any:
    """What the browser keeps of `page`, as it would keep it for another server of the same name."""
    state = page.context.storage_state()
    for each in state["origins"]:
        each["origin"] = elsewhere.url.rstrip("/")
    return state


def test_what_a_visitor_deletes_at_one_app_the_other_does_not_go_on_showing(browser: Browser, tmp_path: Path) -> None:
    programs = find_server()
    if programs is None:
        pytest.skip("there is no PostgreSQL server here")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with running_postgres(programs) as postgres:
        shared = {"CLEARHEAD_DATABASE_URL": postgres.new_database("apps"), "CLEARHEAD_SECRET": "the same for both apps"}
        with (
            serving(tmp_path / "one", **shared) as one,
            serving(tmp_path / "two", **shared) as two,
            opening(one, browser) as open_at_one,
            opening(two, browser) as open_at_two,
        ):
            here = open_at_one()
            read(here, "A quiet quagga.")
            there = open_at_two(storage_state=same_visitor(here, two))
            there.get_by_role("tab", name="History").click()
            expect(there.get_by_role("list", name="Runs")).to_contain_text("A quiet quagga.")
            panel = read(there, "A loud quagga.")
            caller, elsewhere = (Client(each.url, verbose=False, analytics_enabled=False) for each in (one, two))
            elsewhere.session_hash = caller.session_hash
            run_id = caller.predict("A caller's quagga.", api_name="/sentiment")["run_id"]
            assert elsewhere.predict(run_id, api_name="/attention")["weights"]

            here.get_by_role("tab", name="History").click()
            expect(here.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(2)
            here.get_by_role("button", name="Delete all", exact=True).click()
            here.get_by_role("button", name="Yes, delete all").click()
            expect(here.get_by_text("Nothing here yet.")).to_be_visible()
            told = panel.get_by_text("no longer in this host's memory").filter(visible=True)
            layer, ends = panel.get_by_label("number input for Layer"), time.monotonic() + _PATIENCE_S
            while not told.count() and time.monotonic() < ends:
                layer.fill("2" if layer.input_value() == "1" else "1")
                layer.press("Enter")
                settle(there)
            expect(told).to_be_visible(timeout=1_000)
            assert caller.predict(api_name="/session_delete_all") == 1
            with pytest.raises(AppError, match="no such run"):
                elsewhere.predict(run_id, api_name="/attention")
            read(there, "A loud quagga.")
            here.get_by_role("tab", name="Sentiment").click()
            here.get_by_role("tab", name="History").click()
            expect(here.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(1)
