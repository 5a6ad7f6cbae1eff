"""The attention reader through the page: words, colours, heads, a second opinion, and trying changes."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, expect_live_answer, fill, press


class TestOnePage:
    @pytest.mark.parametrize(
        ("tab", "button", "token"),
        [
            ("Fill the blank", "Fill the blank", "[MASK]"),
            ("Sentiment", "Read it", "[CLS]"),
            ("Translate", "Translate", ""),
        ],
    )
    def test_a_run_opens_on_the_token_that_matters_and_says_why_this_head(
        self, page: Page, tab: str, button: str, token: str
    ) -> None:
        panel = choose_tab(page, tab)
        recorded = panel.locator(".pointed").inner_text()
        assert recorded.startswith(f"“{token}")
        assert re.search(r"in layer \d+, head \d+.+None of the other \d+ heads gives so much", recorded)
        press(panel, button)
        expect_live_answer(panel)
        expect(panel.locator(".pointed")).to_have_text(recorded)
        expect(panel.locator(".heatmap-mark")).to_have_count(1)
        chosen = panel.locator(".word.source")
        row = panel.locator(".heatmap-frame .ytick").filter(has_text=chosen.inner_text()).first.bounding_box()
        mark = panel.locator(".heatmap-mark").bounding_box()
        assert row and mark
        assert mark["y"] <= row["y"] + row["height"] / 2 <= mark["y"] + mark["height"], "the chosen row is marked"
        chosen.focus()
        page.keyboard.press("ArrowRight")
        expect(panel.locator(".pointed")).not_to_have_text(recorded)
        next_row = panel.locator(".heatmap-frame .ytick").filter(has_text=panel.locator(".word.source").inner_text())
        row, mark = next_row.first.bounding_box(), panel.locator(".heatmap-mark").bounding_box()
        assert row and mark
        assert mark["y"] <= row["y"] + row["height"] / 2 <= mark["y"] + mark["height"], "the mark goes along"

    def test_a_word_colours_the_others_by_pointer_and_by_keyboard(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        sentence = panel.locator(".sentence")
        sentence.get_by_role("button", name="joy", exact=True).hover()
        expect(sentence.locator(".pointed")).to_contain_text(re.compile(r"^“joy” gives [\d.]+\s% of its weight to “"))
        expect(sentence.locator(".word[data-step='2']").first).to_be_visible()
        sentence.get_by_role("button", name="quiet", exact=True).focus()
        page.keyboard.press("ArrowRight")
        expect(sentence.get_by_role("button", name="little", exact=True)).to_be_focused()
        expect(sentence.locator(".pointed")).to_contain_text("“little” gives")
        sentence.get_by_role("button", name="receives", exact=True).click()
        expect(sentence.locator(".pointed")).to_contain_text(re.compile(r"^“little” gets [\d.]+\s% of the weight of “"))
        sentence.get_by_role("button", name="gives", exact=True).click()

    def test_a_french_word_lights_up_english_ones_and_the_other_way_round(self, page: Page) -> None:
        panel = choose_tab(page, "Translate")
        wrote, read = panel.locator(".words").all()
        wrote.get_by_role("button").first.focus()
        expect(read.locator("[data-step]").first).to_be_visible()
        expect(wrote.locator("[data-step]")).to_have_count(0)
        read.get_by_role("button").nth(1).focus()
        expect(wrote.locator("[data-step]").first).to_be_visible()
        expect(read.locator("[data-step]")).to_have_count(0)

    @pytest.mark.parametrize(
        ("tab", "column"),
        [
            ("Fill the blank", "With a blank there"),
            ("Translate", "With that word left out"),
            ("Write on", "that word left"),
        ],
    )
    def test_trying_works_on_its_first_press_and_marks_what_differs(self, page: Page, tab: str, column: str) -> None:
        panel = choose_tab(page, tab)
        panel.get_by_role("button", name="Try it").click()
        expect(panel.get_by_role("radio", name="Replace a word")).to_be_checked()
        panel.get_by_role("button", name="Compare", exact=True).click()
        compared = panel.locator(".compared")
        expect(compared).to_contain_text("Before")
        expect(compared).to_contain_text(column)
        expect(compared.locator("mark, .way").first).to_be_visible()
        panel.get_by_role("radio", name="Switch off the head above").check()
        panel.get_by_role("button", name="Compare", exact=True).click()
        layer, head = (panel.get_by_label(f"number input for {name}").input_value() for name in ("Layer", "Head"))
        expect(compared).to_contain_text(f"With layer {layer}, head {head} switched off")

    def test_a_head_is_opened_from_the_sheet_by_keyboard(self, page: Page) -> None:
        panel = choose_tab(page, "Fill the blank")
        panel.get_by_role("button", name="All heads at once").click()
        sheet = panel.locator(".sheet")
        expect(panel.locator(".sheet-heads")).to_have_text("".join(map(str, range(1, 13))))
        expect(panel.locator(".sheet-layers")).to_have_text("123456")
        sheet.get_by_role("button", name=re.compile("^Layer 1, head 1:")).focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(panel.locator(".pointed")).to_contain_text("in layer 2, head 2")
        expect(panel.get_by_label("number input for Head")).to_have_value("2")
        expect(panel.locator(".head-role")).to_contain_text("What this head does with this text")
        expect(sheet.get_by_role("button", name=re.compile("^Layer 2, head 2:"), pressed=True)).to_be_attached()
        expect(panel.locator(".pointed")).to_be_in_viewport()

    def test_marks_and_full_stops_can_be_damped_and_pieces_can_be_seen(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        fill(panel, "Your text", "An unputdownable thriller.")
        press(panel, "Read it")
        expect_live_answer(panel)
        sentence = panel.locator(".sentence")
        expect(sentence.get_by_role("button", name="unputdownable", exact=True)).to_be_visible()
        said = panel.locator(".pointed span").first.inner_text()
        panel.get_by_label("Damp marks and full stops").check()
        expect(panel.locator(".heatmap-frame .xtick").filter(has_text="not shown")).to_be_attached()
        expect(sentence.locator("[data-name='[CLS]'][data-key], [data-name='.'][data-key]")).to_have_count(0)
        expect(sentence.locator(".rest")).to_have_attribute("data-share", re.compile(r"%$"))
        expect(panel.locator(".pointed span").first).to_have_text(said)
        sentence.get_by_role("button", name="thriller", exact=True).click()
        expect(panel.locator(".pointed")).to_contain_text(re.compile(r"; [\d.]+\s% went to \[CLS\], “.” and \[SEP\]\."))
        panel.get_by_label("Whole words").uncheck()
        expect(sentence.get_by_role("button", name="unputdownable", exact=True)).to_have_count(0)
        expect(sentence.locator(".word").filter(has_text="##").first).to_be_visible()

    def test_every_picture_has_a_name_and_a_table(self, page: Page) -> None:
        panel = choose_tab(page, "Questions")
        page.set_viewport_size({"width": 360, "height": 740})
        expect(panel.locator(".heatmap-frame")).to_have_attribute("aria-label", re.compile("^Heatmap. “"))
        panel.get_by_text("The same as a table").first.click()
        row = panel.get_by_role("table").first.get_by_role("rowheader").first
        expect(row).to_be_visible()
        panel.get_by_label("Damp marks").check()
        expect(panel.locator(".block.reading")).to_contain_text("not in the picture")
        expect(row).to_be_visible()
