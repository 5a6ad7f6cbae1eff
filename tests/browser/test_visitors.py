"""Visitors make mistakes, reopen, download and delete runs, type code that is never run, and come back."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, find, press


class TestMistakes:
    @pytest.mark.parametrize(
        ("tab", "field", "typed", "button", "sentence"),
        [
            ("Fill the blank", "Your text", "There is no blank here.", "Fill the blank", "There is no blank to fill"),
            ("Sentiment", "Your text", "   ", "Read it", "empty"),
            ("Questions", "Your question", "", "Look it up", "empty"),
            ("Translate", "Your English text", "word " * 2000, "Translate", "at most 5,000"),
            ("Write on", "The beginning of your text", "word " * 2000, "Write on", "at most 5,000"),
        ],
    )
    def test_a_mistake_is_told_beside_its_field_and_the_text_stays(
        self, page: Page, tab: str, field: str, typed: str, button: str, sentence: str
    ) -> None:
        panel = choose_tab(page, tab)
        fill(panel, field, typed)
        press(panel, button)
        alert = panel.get_by_role("alert").filter(visible=True)
        expect(alert).to_contain_text(sentence)
        expect(find(panel, field)).to_have_value(typed)
        below = alert.bounding_box()["y"] - find(panel, field).bounding_box()["y"]  # type: ignore[index]
        assert 0 < below < 400, "the sentence stands right below its field"

    def test_a_model_that_cannot_be_had_gives_way_to_the_bundled_one(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        fill(panel, "Your text", "Keep this text.")
        model = find(panel, "Model")
        bundled = model.input_value()
        model.click()
        page.get_by_role("option", name=re.compile("268 MB download")).click()
        press(panel, "Read it")
        expect(panel.get_by_role("alert").filter(visible=True)).to_contain_text("could not be downloaded")
        expect(model).to_have_value(bundled)
        expect(find(panel, "Your text")).to_have_value("Keep this text.")


class TestHistory:
    """A history that ends empty, then has two runs, which only their visitor sees."""

    def test_a_run_can_be_reopened_downloaded_and_deleted(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        for text in ("A delightful evening.", "A dreadful evening."):
            fill(panel, "Your text", text)
            press(panel, "Read it")
            expect(panel.locator(".heatmap-frame .ytick").filter(has_text=text.split()[1]).first).to_be_attached()
        page.get_by_role("tab", name="History").click()
        runs = page.get_by_role("list", name="Runs").get_by_role("listitem")
        expect(runs).to_have_count(2)
        expect(runs.first).to_contain_text("A dreadful evening.")

        with page.expect_download() as download:
            page.get_by_role("button", name="Download CSV").click()
        assert "A delightful evening." in Path(download.value.path()).read_text(encoding="utf-8")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download JSON").click()
        assert "A delightful evening." in Path(download.value.path()).read_text(encoding="utf-8")

        page.get_by_role("button", name="Open: Sentiment: A delightful evening.").click()
        expect(find(panel, "Your text")).to_have_value("A delightful evening.")
        expect(panel.locator(".heatmap-frame .ytick").filter(has_text="delightful").first).to_be_attached()

        page.get_by_role("tab", name="History").click()
        page.get_by_role("button", name="Delete: Sentiment: A delightful evening.").click()
        expect(runs).to_have_count(1)
        page.get_by_role("button", name="Delete all", exact=True).click()
        page.get_by_role("button", name="Yes, delete all").click()
        expect(page.get_by_text("Nothing here yet.")).to_be_visible()

    def test_what_is_typed_is_never_run(self, page: Page) -> None:
        nasty = "<script>alert(1)</script> <img src=x onerror=alert(1)> ${alert(1)} {{value}}"
        panel = choose_tab(page, "Fill the blank")
        fill(panel, "Your text", f"{nasty} is [MASK].")
        fill(panel, "My word", nasty)
        press(panel, "Fill the blank")
        expect_live_answer(panel)
        expect(panel.locator(".block.answer")).to_contain_text("<")
        panel = choose_tab(page, "Write on")
        fill(panel, "The beginning of your text", nasty)
        panel.get_by_label("number input for Tokens to write").fill("3")
        press(panel, "Write on")
        expect_live_answer(panel)
        expect(panel.locator(".written .prompt")).to_have_text(nasty)
        expect_heatmap(panel)
        page.get_by_role("tab", name="History").click()
        expect(page.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(2)
        expect(page.get_by_role("list", name="Runs")).to_contain_text(nasty)

    def test_a_visitor_who_comes_back_finds_the_runs_and_another_does_not(self, page: Page, open_page: Open) -> None:
        again = page.context.new_page()
        again.goto(page.url.split("?")[0])
        again.get_by_role("tab", name="History").click()
        expect(again.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(2)
        other = open_page()
        other.get_by_role("tab", name="History").click()
        expect(other.get_by_text("Nothing here yet.")).to_be_visible()
