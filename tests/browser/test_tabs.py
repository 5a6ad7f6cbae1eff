"""Every task through the page: type, run, read the answer and the picture."""

from playwright.sync_api import Page, expect

from tests.api.server import Server, slowed
from tests.browser.reading import (
    choose_tab,
    expect_heatmap,
    expect_live_answer,
    fill,
    open_tab,
    press,
    press_stop_once_something_is_written,
)


class TestOnePage:
    def test_tabs_keep_their_names_when_they_are_opened(self, page: Page) -> None:
        tabs = page.get_by_role("tablist").get_by_role("tab")
        names = tabs.all_inner_texts()
        for name in ("One word", "Teach it", "Two sentences", "Names"):
            open_tab(page, name)
            expect(tabs).to_have_text(names)

    def test_layer_and_head_redraw_the_picture(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        sentence = panel.locator(".read-out")
        expect(sentence).to_contain_text("in layer 6, head 3")
        panel.get_by_label("number input for Layer").fill("2")
        expect(sentence).to_contain_text("in layer 2, head 3")
        panel.get_by_role("radio", name="Mean").check()
        expect(sentence).to_contain_text("in layer 2, on average over its heads")
        panel.get_by_role("radio", name="One head").check()
        panel.get_by_label("number input for Head").fill("4")
        expect(sentence).to_contain_text("in layer 2, head 4")
        expect_heatmap(panel)

    def test_a_blank_is_filled(self, page: Page) -> None:
        panel = choose_tab(page, "Fill the blank")
        fill(panel, "Your text", "The sky is [MASK] today.")
        fill(panel, "My word", "blue")
        press(panel, "Fill the blank")
        expect_live_answer(panel)
        expect(panel.get_by_role("list", name="Likeliest words for blank 1").get_by_role("listitem")).to_have_count(5)
        expect(panel.locator(".block.answer")).to_contain_text("The sky is")
        expect(panel.locator(".own-word")).to_contain_text("The model gives “blue”")
        expect_heatmap(panel, "[MASK]", "sky")

    def test_a_feeling_is_read(self, page: Page) -> None:
        panel = choose_tab(page, "Sentiment")
        fill(panel, "Your text", "I loved every minute of this wonderful film.")
        press(panel, "Read it")
        expect_live_answer(panel)
        expect(panel.get_by_role("list", name="Probability of each class")).to_contain_text("%")
        expect_heatmap(panel, "wonderful")

    def test_an_answer_is_marked_in_its_text(self, page: Page) -> None:
        panel = choose_tab(page, "Questions")
        fill(panel, "Your question", "Where does Anna live?")
        fill(panel, "The text to look in", "Anna lives in Lisbon. Her brother Paul lives in Rome.")
        press(panel, "Look it up")
        expect_live_answer(panel)
        answer = panel.locator(".block.answer")
        expect(answer.locator("mark").or_(answer.get_by_text("No answer in this text").first).first).to_be_visible()
        expect(panel.locator(".span-frame .barlayer .point").first).to_be_attached()
        expect_heatmap(panel, "lisbon")

    def test_names_are_marked_in_their_text(self, page: Page) -> None:
        panel = choose_tab(page, "Names")
        fill(panel, "Your text", "Paul met Karla in Vienna.")
        press(panel, "Find names")
        expect_live_answer(panel)
        answer = panel.locator(".block.answer")
        expect(answer.get_by_role("heading", name="The model finds 2 people and 1 place")).to_be_visible()
        expect(answer.locator("mark")).to_have_count(3)
        expect(answer.locator("mark").last).to_contain_text("place")
        answer.get_by_text("Every token’s probabilities").click()
        expect(answer.get_by_role("row", name="vienna B-place")).to_be_visible()
        expect_heatmap(panel, "paul", "vienna")

    def test_a_sentence_is_translated_and_cross_attention_comes_first(self, page: Page) -> None:
        panel = choose_tab(page, "Translate")
        fill(panel, "Your English text", "The cat is black.")
        press(panel, "Translate")
        expect_live_answer(panel)
        expect(panel.locator(".best-text")).not_to_be_empty()
        expect(panel.get_by_role("radio", name="cross-attention")).to_be_checked()
        expect_heatmap(panel, "noir")
        panel.get_by_role("radio", name="Encoder").check()
        expect_heatmap(panel, "black")

    def test_a_story_is_written_on(self, page: Page) -> None:
        panel = choose_tab(page, "Write on")
        fill(panel, "The beginning of your text", "Once there was a frog")
        panel.get_by_label("number input for Tokens to write").fill("12")
        press(panel, "Write on")
        expect_live_answer(panel)
        expect(panel.locator(".written .prompt")).to_have_text("Once there was a frog")
        expect(panel.locator(".written .token").nth(3)).to_be_attached()
        panel.locator(".written").get_by_role("radio").first.click()
        expect(panel.get_by_role("heading", name="Step 1 of 12")).to_contain_text("%")
        expect_heatmap(panel, "frog")

    def test_writing_can_be_stopped_and_what_was_written_stays(self, page: Page, server: Server) -> None:
        panel = choose_tab(page, "Write on")
        panel.get_by_label("number input for Tokens to write").fill("200")
        # Drawn almost evenly from all tokens, the end of the text is unlikely to come by itself.
        for setting, value in (("Temperature", "2"), ("Top-k", "0"), ("Top-p", "1")):
            panel.get_by_label(f"number input for {setting}").fill(value)
        prompt = panel.get_by_label("The beginning of your text").input_value()
        press_stop_once_something_is_written(page)
        with slowed(server):
            press(panel, "Write on")
            expect(panel.locator(".block.answer")).to_contain_text("You stopped it here.")
        assert 0 < panel.locator(".written .token").count() < 199
        page.get_by_role("tab", name="History").click()
        expect(page.get_by_role("list", name="Runs").get_by_role("listitem").first).to_contain_text(prompt)
