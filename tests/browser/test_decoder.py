"""The decoder in the page: choose a token, go step by step, continue from another one, draw the tree, stop a search."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from models.errors import Stopped
from tests.api.server import Server, slowed
from tests.browser.conftest import Open
from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, press
from tests.web.calls import LONG_TEXT


def write(page: Page, tokens: int = 12, strategy: str = "Sampling", seed: str = "7") -> Locator:
    """A short text on the tab "Write on"."""
    panel = choose_tab(page, "Write on")
    panel.get_by_role("radio", name=strategy).check()
    panel.get_by_label("number input for Tokens to write").fill(str(tokens))
    if strategy == "Sampling":
        fill(panel, "Seed", seed)
    press(panel, "Write on")
    expect_live_answer(panel)
    return panel


def expect_step(panel: Locator, step: int, count: int) -> None:
    expect(panel.get_by_role("heading", name=f"Step {step} of {count}:")).to_be_visible()
    expect(panel.get_by_label("number input for Step", exact=True)).to_have_value(str(step))
    expect(panel.locator(f"[role=radio][data-step='{step}']")).to_have_attribute("aria-checked", "true")


class TestSteps:
    def test_a_token_is_chosen_by_pointer_and_by_keyboard_and_the_attention_grows_along(self, page: Page) -> None:
        panel = choose_tab(page, "Write on")
        expect_heatmap(panel)
        rows = panel.locator(".heatmap-frame .ytick")
        whole = rows.count()
        tokens = panel.get_by_role("radiogroup", name="Written tokens").get_by_role("radio")
        tokens.nth(3).click()
        expect_step(panel, 4, 40)
        expect(rows).not_to_have_count(whole)
        shown = rows.count()
        assert 0 < shown < whole
        page.keyboard.press("ArrowRight")
        expect_step(panel, 5, 40)
        expect(tokens.nth(4)).to_be_focused()
        expect(rows).to_have_count(shown + 1)
        page.keyboard.press("Home")
        expect_step(panel, 1, 40)
        # The head of the table and the ten likeliest, of which one was drawn.
        expect(panel.get_by_role("table").filter(visible=True).first.get_by_role("row")).to_have_count(11)

    def test_the_slider_walks_through_a_translation(self, page: Page) -> None:
        panel = choose_tab(page, "Translate")
        step = panel.get_by_label("number input for Step", exact=True)
        count = int(step.input_value())
        step.fill("2")
        step.press("Enter")
        expect_step(panel, 2, count)
        expect(panel.locator(".step")).to_contain_text("Beam search keeps several drafts")
        expect(panel.locator(".heatmap-frame .ytick")).to_have_count(2)

    def test_another_text_stands_beside_the_first_and_three_stand_at_once(self, page: Page) -> None:
        panel = choose_tab(page, "Write on")
        first = panel.locator(".block.answer .written").inner_text()
        press(panel, "Another one")
        samples = panel.locator(".samples")
        expect(samples.get_by_role("heading", level=4)).to_have_text(["Seed 0", "Seed 1"])
        expect(samples.locator("mark")).to_have_count(2)
        expect_live_answer(panel)
        expect(panel.locator(".block.answer .written")).not_to_have_text(first)
        expect(panel.get_by_label("Seed")).to_have_value("1")
        decided = panel.locator(".decided")
        decided.locator("summary").click()
        expect(decided.locator("li")).to_have_count(40)
        press(panel, "Three at once")
        expect(samples.get_by_role("heading", level=4)).to_have_text(["Seed 1", "Seed 2", "Seed 3"])
        expect(samples).to_contain_text(re.compile("then they part: |They part at the first token: "))
        press(panel, "Write on")
        expect(samples).to_be_hidden()


class TestAnotherText:
    """One history, which each test adds to."""

    @pytest.mark.parametrize(("tab", "runs"), [("Translate", 1), ("Write on", 2)])
    def test_a_text_goes_on_from_another_token_beside_the_old_one(self, page: Page, tab: str, runs: int) -> None:
        panel = choose_tab(page, tab)
        panel.get_by_role("radiogroup", name="Written tokens").get_by_role("radio").nth(1).click()
        expect(panel.get_by_role("heading", name="Step 2 of")).to_be_visible()
        other = panel.get_by_role("button", name="Go on from").nth(1)
        word = str(other.get_attribute("aria-label")).removeprefix("Go on from ").removesuffix(" instead")
        other.click()
        parted = panel.locator(".forked")
        expect(parted).to_contain_text(f"With “{word}” in place of")
        expect(parted.get_by_role("region")).to_have_count(2)
        expect(parted.locator("mark").first).to_be_visible()
        panel.get_by_role("button", name="Walk through the new text").click()
        expect(parted).to_be_hidden()
        expect_live_answer(panel)
        panel.get_by_role("radiogroup", name="Written tokens").get_by_role("radio").nth(1).click()
        expect(panel.get_by_role("heading", name="Step 2 of")).to_contain_text(f"“{word}” was put in")
        page.get_by_role("tab", name="History").click()
        expect(page.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(runs)

    def test_a_translation_can_be_stopped_and_the_next_one_is_answered(self, page: Page, server: Server) -> None:
        panel = choose_tab(page, "Translate")
        fill(panel, "Your English text", LONG_TEXT)
        panel.get_by_label("number input for Beams").fill("8")
        with slowed(server):
            press(panel, "Translate")
            press(panel, "Stop")
            expect(panel.get_by_role("alert").filter(visible=True)).to_have_text(Stopped.SENTENCE)
        fill(panel, "Your English text", "The dog sleeps.")
        press(panel, "Translate")
        expect_live_answer(panel)
        expect(panel.get_by_role("alert").filter(visible=True)).to_have_count(0)
        page.get_by_role("tab", name="History").click()
        runs = page.get_by_role("list", name="Runs").get_by_role("listitem")
        expect(runs).to_have_count(4)
        expect(runs.nth(1)).to_contain_text(Stopped.SENTENCE)


def test_three_strategies_are_drawn_as_one_tree_in_its_own_frame(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 800}, has_touch=True)
    panel = choose_tab(page, "Write on")
    panel.get_by_role("button", name="Three strategies in one picture").click()
    panel.get_by_label("number input for Steps to draw").fill("8")
    panel.get_by_role("button", name="Draw the tree").click()
    expect(panel.locator(".tree-frame .textpoint").nth(20)).to_be_attached()
    expect(panel.locator(".strategies").get_by_role("listitem")).to_have_count(3)
    panel.get_by_text("The tree as a table").click()
    expect(panel.get_by_role("region", name="The tree as a table").get_by_role("row").nth(20)).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = panel.locator(".tree-frame").evaluate("frame => [frame.scrollWidth, frame.clientWidth]")
    assert wide[0] > wide[1], "the picture scrolls in its frame"
