"""Find and use what visitors see, by accessible name and visibility."""

import re

from playwright.sync_api import Locator, Page, expect

TABS = ("Fill the blank", "Sentiment", "Questions", "Names", "Translate", "Write on", "Before")


def open_tab(page: Page, name: str) -> Locator:
    """Press the tab called `name` and return its panel."""
    page.get_by_role("tab", name=name).click()
    return page.get_by_role("tabpanel").filter(visible=True)


def choose_tab(page: Page, name: str) -> Locator:
    """Open the tab called `name`, unfold its settings and return its panel."""
    panel = open_tab(page, name)
    expect(panel.locator(".header-line .run-header")).to_be_visible()
    return unfold_settings(panel)


def unfold_settings(panel: Locator) -> Locator:
    """Unfold the settings, the model and all else in the panel's left column, and return the panel."""
    folded = panel.locator(".beside .fold > button:not(.open)")
    while folded.count():
        open_fold(folded.first)
    return panel


def open_fold(button: Locator) -> None:
    """Open the fold of `button`, and wait until Gradio has set its fields, which would overwrite earlier typing."""
    button.click()
    button.page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def settle(page: Page) -> None:
    """Wait until no answer is pending and no animation runs: what is half faded in has too little contrast."""
    page.wait_for_function(
        """() => !document.querySelector('.pending, .generating') && document.getAnimations().every(
            (each) => each.playState !== 'running' || each.effect.getComputedTiming().iterations === Infinity)""",
        polling=50,
    )


def press(panel: Locator, button: str) -> None:
    panel.get_by_role("button", name=button, exact=True).click()


def press_stop_once_something_is_written(page: Page) -> None:
    """Let the page itself press Stop once a caret is there: a small model may be done before a test can react."""
    page.evaluate(
        """() => {
            const seen = (selector) => [...document.querySelectorAll(selector)].find((each) => each.offsetParent);
            const timer = setInterval(() => {
                if (!seen('.caret') || !seen('button.stop')) return;
                clearInterval(timer);
                seen('button.stop').click();
            }, 5);
        }"""
    )


def find(panel: Locator, field: str) -> Locator:
    """The field whose label begins with `field`; the label may go on with a hint."""
    return panel.get_by_label(re.compile(rf"^\s*{field}"))


def fill(panel: Locator, field: str, text: str) -> None:
    find(panel, field).fill(text)


def expect_live_answer(panel: Locator) -> None:
    """Expect an answer that is not the recorded example, and a header with its revision, licence and time."""
    header = panel.locator(".header-line .run-header")
    expect(header).not_to_contain_text("Recorded example")
    expect(header).to_contain_text(re.compile(r"revision \w+ Apache-2\.0 [\d.]+ m?s"))


def expect_heatmap(panel: Locator, *tokens: str) -> None:
    """Expect a drawn heatmap with these tokens on its vertical axis."""
    frame = panel.locator(".heatmap-frame")
    expect(frame.locator(".heatmaplayer image, .heatmaplayer path").first).to_be_attached()
    for token in tokens:
        expect(frame.locator(".ytick").filter(has_text=token).first).to_be_attached()
