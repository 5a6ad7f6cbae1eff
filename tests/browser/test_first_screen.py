"""Without scrolling a visitor sees the text, the button, the answer and, beside it, the top of the picture."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.reading import expect_heatmap, expect_live_answer, open_tab, settle

SIZES = ((1440, 900), (1280, 720), (390, 844))
BUTTONS = {
    "Fill the blank": "Fill the blank",
    "Sentiment": "Read it",
    "Questions": "Look it up",
    "Names": "Find names",
    "Translate": "Translate",
    "Write on": "Write on",
}
TWO_COLUMNS = 1100
FIRST_LINES, TOP_OF_PICTURE = 56, 24
"""How many pixels of the answer and of the coloured sentence are to be in view."""


def top_of(panel: Locator, selector: str) -> float:
    box = panel.locator(selector).filter(visible=True).first.bounding_box()
    assert box is not None, selector
    return box["y"]


def expect_in_view(page: Page, panel: Locator, picture: str, answer: str) -> None:
    """At each of the sizes, the last of which is a phone's."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        expect_in_view_now(page, panel, picture, answer)


def expect_in_view_now(page: Page, panel: Locator, picture: str, answer: str) -> None:
    size = page.viewport_size
    assert size is not None
    for selector in (".ask textarea", ".run-button"):
        box = panel.locator(selector).filter(visible=True).first.bounding_box()
        assert box is not None
        assert box["y"] >= 0 and box["y"] + box["height"] <= size["height"], selector
    assert top_of(panel, answer) + FIRST_LINES <= size["height"], answer
    if size["width"] >= TWO_COLUMNS:
        assert top_of(panel, picture) + TOP_OF_PICTURE <= size["height"], picture
        assert top_of(panel, answer) <= top_of(panel, ".run-button"), "the answer stands beside what was asked"
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


class TestOnePage:
    def test_every_tab_opens_on_a_recorded_example_with_text_button_answer_and_picture_in_one_view(
        self, page: Page
    ) -> None:
        for tab, button in BUTTONS.items():
            panel = open_tab(page, tab)
            expect(panel.locator(".sentence .words").first).to_be_visible()
            expect(panel.locator(".run-header")).to_contain_text("Recorded example")
            expect(panel.locator(".block.answer")).not_to_be_empty()
            expect(panel.locator(".read-out")).to_contain_text("of its weight to")
            expect_heatmap(panel)
            expect_in_view(page, panel, ".sentence .words", ".block.answer")
            panel.get_by_role("button", name=button, exact=True).click()
            expect_live_answer(panel)
            expect_in_view(page, panel, ".sentence .words", ".block.answer")
        panel = open_tab(page, "Inside")
        expect(panel.locator(".inside-step .pieces").first).to_be_visible()
        expect_in_view(page, panel, ".inside-step .pieces", ".step-heading")
        page.set_viewport_size({"width": 1280, "height": 720})

    def test_an_answer_that_no_longer_belongs_to_the_text_is_dimmed_and_says_so(self, page: Page) -> None:
        panel = open_tab(page, "Sentiment")
        stale = panel.locator(".result.stale")
        expect(stale).to_have_count(0)
        field = panel.get_by_label("Your text")
        before = field.input_value()
        field.fill("A dull, endless evening.")
        expect(stale).to_have_count(1)
        said = panel.locator(".block.header-line").evaluate("(line) => getComputedStyle(line, '::before').content")
        assert "earlier text" in said
        field.fill(before)
        expect(stale).to_have_count(0)
        field.fill("A dull, endless evening.")
        field.press("Enter")
        expect_live_answer(panel)
        expect(stale).to_have_count(0)

    def test_an_example_answers_at_once_and_my_word_goes_with_its_text(self, page: Page) -> None:
        panel = open_tab(page, "Fill the blank")
        panel.get_by_role("button", name="Settings and model").click()
        expect(panel.get_by_label("My word")).to_have_value("coffee")
        panel.get_by_role("button", name="a capital").click()
        expect_live_answer(panel)
        expect(panel.get_by_label("Your text")).to_have_value("Paris is the capital of [MASK].")
        expect(panel.locator(".result.stale")).to_have_count(0)
        panel.get_by_label("My word").fill("castle")
        panel.get_by_label("Your text").press_sequentially(" Really.")
        expect(panel.get_by_label("My word")).to_have_value("")

    def test_enter_runs_shift_enter_breaks_the_line_and_control_enter_runs_everywhere(self, page: Page) -> None:
        panel = open_tab(page, "Questions")
        context = panel.get_by_label("The text to look in")
        context.fill("The museum opened in 1987.")
        context.press("Shift+Enter")
        context.press_sequentially("It closes at six.")
        expect(context).to_have_value("The museum opened in 1987.\nIt closes at six.")
        panel.get_by_label("Your question").fill("When does it close?")
        context.press("Enter")
        expect_live_answer(panel)
        expect(panel.locator(".block.answer")).to_contain_text("six")
        panel.get_by_role("button", name="Settings and model").click()
        panel.get_by_label("Your question").fill("When did it open?")
        panel.get_by_label("number input for Answers to show").press("Control+Enter")
        expect(panel.locator(".block.answer h3").first).to_contain_text("1987")

    def test_a_page_that_is_left_alone_rests_and_a_run_copies_little(self, page: Page) -> None:
        page.evaluate(
            """() => {
                window.calls = {requestAnimationFrame: 0, structuredClone: 0};
                for (const name of Object.keys(calls)) {
                    const own = window[name].bind(window);
                    window[name] = (...given) => { calls[name]++; return own(...given); };
                }
            }"""
        )

        def frames_of_a_second() -> int:
            before = page.evaluate("calls.requestAnimationFrame")
            page.wait_for_timeout(1000)
            return int(page.evaluate("calls.requestAnimationFrame") - before)

        # What has changed before may still fade for some seconds.
        assert any(frames_of_a_second() < 10 for _ in range(15))
        panel = open_tab(page, "Write on")
        panel.get_by_role("button", name="Write on", exact=True).click()
        expect_live_answer(panel)
        settle(page)
        # Gradio's own scripts copy what components hold some 100,000 times, and these 4,000 times.
        assert page.evaluate("calls.structuredClone") < 20_000

    def test_arrows_turn_to_the_next_tab(self, page: Page) -> None:
        page.get_by_role("tab", name="Sentiment").click()
        page.get_by_role("tab", name="Sentiment").press("ArrowRight")
        expect(page.get_by_role("tab", name="Questions")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tab", name="Questions")).to_be_focused()
        page.get_by_role("tab", name="Questions").press("Home")
        expect(page.get_by_role("tab", name="Fill the blank")).to_have_attribute("aria-selected", "true")

    def test_tabs_and_steps_have_addresses_back_goes_back_and_a_reload_keeps_the_text(self, page: Page) -> None:
        page.get_by_role("tab", name="Sentiment").click()
        expect(page).to_have_url(re.compile(r"\?tab=sentiment$"))
        page.get_by_role("tabpanel").filter(visible=True).get_by_label("Your text").fill("Mine alone.")
        page.get_by_role("tab", name="Inside").click()
        expect(page).to_have_url(re.compile(r"\?inside=tokens$"))
        panel = page.get_by_role("tabpanel").filter(visible=True)
        panel.get_by_role("radio", name="2 Tokens become vectors").check()
        expect(page).to_have_url(re.compile(r"\?inside=vectors&text="))
        page.go_back()
        expect(panel.get_by_role("heading", name="1. Text becomes tokens")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("tab", name="Sentiment")).to_have_attribute("aria-selected", "true")
        page.reload()
        expect(page.get_by_role("tab", name="Sentiment")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel").filter(visible=True).get_by_label("Your text")).to_have_value("Mine alone.")


def test_on_a_phone_an_answer_out_of_view_is_scrolled_to_and_told_to_screen_readers_and_the_open_tab_is_seen(
    open_page: Open,
) -> None:
    page = open_page(viewport={"width": 390, "height": 420})
    panel = open_tab(page, "Sentiment")
    page.evaluate(
        """() => {
            window.heard = [];
            new MutationObserver(() => document.querySelectorAll('[aria-live], [role=status]').forEach(
                (each) => window.heard.push(each.textContent.trim()))).observe(
                document.body, {childList: true, characterData: true, subtree: true});
        }"""
    )
    panel.get_by_label("Your text").fill("A dull, endless evening.")
    panel.get_by_role("button", name="Read it", exact=True).click()
    expect_live_answer(panel)
    expect(page.locator(".announced")).to_have_text("Answer: negative")
    expect(panel.locator(".block.answer")).to_be_in_viewport()
    heard = page.evaluate("window.heard")
    assert "Answer: negative" in heard
    assert not any(re.search(r"\bcommon\.", each) for each in heard)
    # The open tab stands in view among the others.
    page.emulate_media(reduced_motion="reduce")
    expect(page.get_by_role("tab", name="Teach it")).not_to_be_in_viewport()
    page.goto(f"{page.url.split('?')[0]}?tab=teach-it")
    expect(page.get_by_role("tab", name="Teach it")).to_be_in_viewport(ratio=1)
