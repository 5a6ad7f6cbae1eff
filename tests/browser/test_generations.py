"""Before Transformers through the page: rows open, a word is left out, and a cell colours a text."""

import re

from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, expect_live_answer, fill, find, open_fold, press


class TestOnePage:
    def test_a_word_is_left_out_and_rows_open(self, page: Page) -> None:
        panel = choose_tab(page, "Before")
        rows = panel.locator(".generations details")
        expect(rows).to_have_count(12)
        rows.nth(7).locator("summary").click()
        expect(rows.nth(7).get_by_role("img")).to_have_count(4)
        expect(rows.nth(7)).to_contain_text("forget gate")
        fill(panel, "Your text", "I do not love this movie.")
        panel.get_by_role("button", name="not", exact=True).click()
        expect(find(panel, "The same with one word changed")).to_have_value("I do love this movie.")
        press(panel, "Ask them all")
        expect_live_answer(panel)
        answer = panel.locator(".block.answer")
        expect(answer).to_contain_text(re.compile("change their minds|No model changes its mind"))
        expect(answer.locator(".both-ways .changed")).to_have_count(12)
        rows.nth(0).locator("summary").click()
        expect(rows.nth(0).get_by_role("list")).to_contain_text("love")
        expect(panel.locator(".js-plotly-plot .scatterlayer .trace").first).to_be_attached()

    def test_a_text_takes_the_colours_of_a_cell_chosen_by_name_or_by_number(self, page: Page) -> None:
        panel = choose_tab(page, "Before")
        open_fold(panel.get_by_role("button", name="Single cells"))
        fold = panel.locator(".tool").filter(has_text="what one number of an LSTM watches")
        answer = fold.locator(".block.answer")
        expect(answer).to_contain_text(re.compile(r"Cell \d+ watches"))
        fold.get_by_label("Your text").fill('if x:\n    return "é"')
        fold.get_by_role("radio", name="Python source").check()
        press(fold, "Read it")
        expect(answer).to_contain_text("read as one unknown sign")
        expect(fold.locator(".run-header")).not_to_contain_text("Recorded example")
        fold.get_by_role("radio", name="indentation").check()
        expect(answer.get_by_role("heading")).to_contain_text("indentation")
        characters = answer.get_by_role("radiogroup", name="The text: choose a character").get_by_role("radio")
        characters.first.click()
        page.keyboard.press("ArrowRight")
        expect(answer.get_by_role("status")).to_contain_text(re.compile("After “f”: −?[01]\\.\\d\\d. Likeliest next: "))
        fold.get_by_role("spinbutton", name="Any cell").fill("3")
        expect(answer.get_by_role("heading")).to_contain_text("Cell 3 has no name here")
        page.get_by_role("tab", name="History").click()
        page.get_by_role("button", name="Open: Single cells: if x").first.click()
        expect(
            panel.locator(".tool").filter(has_text="what one number of an LSTM watches").get_by_label("Your text")
        ).to_have_value('if x:\n    return "é"')
