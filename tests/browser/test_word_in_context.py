"""One word through the page: compare, go through the layers by keyboard, calculate, and read what to correct."""

import re

from playwright.sync_api import Page, expect

from tests.browser.reading import expect_live_answer, fill, open_tab, press
from tests.browser.test_accessibility import violations_by_day_and_night


class TestOnePage:
    def test_one_word_is_compared_layer_by_layer(self, page: Page) -> None:
        panel = open_tab(page, "One word")
        expect(panel.locator(".header-line .run-header")).to_contain_text("Recorded example")
        fill(panel, "The word", "spring")
        fill(panel, "Sentences, one a line", "The birds come back in spring.\nThe spring in the clock is broken.")
        press(panel, "Compare the sentences")
        expect_live_answer(panel)
        answer, grid = panel.locator(".block.answer"), panel.locator(".block.word-grid")
        expect(answer.locator("mark")).to_have_text(["spring", "spring"])
        expect(answer).to_contain_text("The spring in the clock is broken.")
        expect(grid.locator("td")).to_have_count(4)
        expect(grid.locator("td").first).to_have_text("1.00")
        expect(panel.locator(".plane-frame .scatterlayer .point")).to_have_count(3)
        slider = panel.get_by_role("slider", name=re.compile("Layer")).first
        slider.focus()
        slider.press("End")
        expect(grid.locator(".read-out")).to_contain_text("At layer 6 the word’s two vectors have a cosine of")
        slider.press("Home")
        expect(grid.locator(".read-out")).to_contain_text("Before the first layer")
        expect(grid).to_contain_text("Layer 0 is what the first layer reads")
        fill(panel, "Sentences, one a line", "The birds come back in spring.\nIt rains.")
        press(panel, "Compare the sentences")
        expect(panel.get_by_role("alert").filter(has_text="does not stand in sentence 2")).to_be_visible()

    def test_words_are_added_and_taken_away(self, page: Page) -> None:
        panel = open_tab(page, "One word")
        panel.get_by_role("button", name="Calculate with words").click()
        press(panel, "Calculate")
        found = panel.locator(".block.tool-result").filter(has_text="king − man + woman ≈")
        expect(found).to_contain_text("The three words themselves are left out")
        panel.get_by_label("take away").fill("zxqv")
        panel.get_by_label("take away").press("Enter")
        expect(panel.get_by_role("alert").filter(has_text="“zxqv” has no static vector here")).to_be_visible()
        panel.get_by_role("button", name="Which layer carries the meaning?").click()
        expect(panel.get_by_role("region", name="F1 by layer").get_by_role("row")).to_have_count(7)

    def test_it_has_no_serious_violation_and_nothing_scrolls_sideways(self, page: Page) -> None:
        panel = open_tab(page, "One word")
        panel.get_by_label("take away").fill("man")
        press(panel, "Calculate")
        expect(panel.locator(".block.tool-result").filter(has_text="left out")).to_be_visible()
        assert not violations_by_day_and_night(page)
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
