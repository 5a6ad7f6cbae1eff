"""Surprise through the page: two texts measured, a token pointed at, ranks and bits, and a phone."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, press, settle


def opened(page: Page) -> Locator:
    """The panel; a bar of tabs without room for all of them may show the chosen one twice."""
    panel = page.locator("#tab-surprise")
    if not panel.is_visible():
        choose_tab(page, "Surprise")
    return panel


class TestOnePage:
    def test_two_texts_are_measured_and_their_tokens_read_out(self, page: Page) -> None:
        panel = opened(page)
        fill(panel, "Your text", "She drank a cup of tea.")
        fill(panel, "Compare with", "She drank a cup of gravel.")
        press(panel, "Measure it")
        expect_live_answer(panel)
        answer = panel.locator(".block.answer")
        expect(answer.locator("h3")).to_contain_text("The model finds the first text")
        second = answer.get_by_role("radiogroup", name="Second text: choose a token")
        second.get_by_role("radio").last.click()
        second.get_by_role("radio").last.press("Home")
        expect(answer.locator(".pointed")).to_contain_text("“She” has")
        expect(second.get_by_role("radio").first).to_be_focused()
        expect(answer.locator(".pointed")).to_contain_text("rank")
        answer.get_by_text("First text: step by step").click()
        expect(answer.get_by_role("row", name="tea")).to_be_visible()
        expect_heatmap(panel, "tea")

    def test_the_colours_show_ranks_or_bits(self, page: Page) -> None:
        panel = opened(page)
        answer = panel.locator(".block.answer")
        expect(answer.get_by_text("top 1,000")).to_be_visible()
        answer.get_by_role("button", name="bits").click()
        expect(answer.get_by_text("14 bits or more")).to_be_visible()
        expect(answer.get_by_text("top 1,000")).to_be_hidden()
        token = answer.get_by_role("radio").first
        assert token.get_attribute("data-step") == token.get_attribute("data-bits")

    def test_an_empty_text_is_told_beside_its_field(self, page: Page) -> None:
        panel = opened(page)
        fill(panel, "Your text", " ")
        press(panel, "Measure it")
        expect(panel.get_by_role("alert").filter(has_text="The text is empty.")).to_be_visible()

    def test_a_text_is_judged_and_false_alarms_on_people_come_first(self, page: Page) -> None:
        panel = opened(page)
        panel.get_by_role("button", name="Is it machine-written?").click()
        fill(panel, "The text in question", "Too short to tell.")
        press(panel, "Judge it")
        expect(panel.get_by_role("alert").filter(has_text="fewer than 20 say too little")).to_be_visible()
        fill(panel, "The text in question", "Once upon a time there was a little girl. She was very happy. " * 3)
        press(panel, "Judge it")
        form = panel.locator(".task").last
        expect(form.get_by_role("heading", name="Reads like a model’s text:")).to_contain_text("%")
        expect(form.locator(".answer p").first).to_contain_text("by people, the detector takes")
        settle(page)
        form.get_by_text("How often it takes a text for a model’s").click()
        expect(form.get_by_role("row", name="news")).to_be_visible()
        page.get_by_role("tab", name="History").click()
        page.get_by_role("button", name="Open: Is it machine-written?: Once upon").first.click()
        expect(panel.get_by_role("heading", name="Reads like a model’s text:")).to_be_visible()

    def test_nothing_scrolls_sideways_on_a_small_phone(self, page: Page) -> None:
        page.set_viewport_size({"width": 360, "height": 740})
        panel = opened(page)
        expect(panel.get_by_role("row", name="tea")).to_be_visible()
        expect(panel.get_by_role("button", name="bits")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
