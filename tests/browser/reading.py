"""How tests find what visitors see, by accessible name and by what is visible."""

import re

from playwright.sync_api import Locator, Page, expect

TABS = ("Fill the blank", "Sentiment", "Questions", "Names", "Translate", "Write on", "Before")


def open_tab(page: Page, name: str) -> Locator:
    """The panel of the tab called `name`, which is pressed."""
    page.get_by_role("tab", name=name).click()
    return page.get_by_role("tabpanel").filter(visible=True)


def choose_tab(page: Page, name: str) -> Locator:
    """The panel of the tab called `name`, once it is open, with its settings."""
    panel = open_tab(page, name)
    expect(panel.locator(".header-line .run-header")).to_be_visible()
    return unfold_settings(panel)


def unfold_settings(panel: Locator) -> Locator:
    """The panel with its settings, the model and all else that is folded in the left column open."""
    folded = panel.locator(".beside .fold > button:not(.open)")
    while folded.count():
        open_fold(folded.first)
    return panel


def open_fold(button: Locator) -> None:
    """Open what is folded below `button`; Gradio sets its fields again at the next frame, over what is typed before."""
    button.click()
    button.page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def settle(page: Page) -> None:
    """Wait until nothing on the page waits for an answer or is still fading: what is half seen has no contrast."""
    page.wait_for_function(
        """() => !document.querySelector('.pending, .generating') && document.getAnimations().every(
            (each) => each.playState !== 'running' || each.effect.getComputedTiming().iterations === Infinity)""",
        polling=50,
    )


def press(panel: Locator, button: str) -> None:
    panel.get_by_role("button", name=button, exact=True).click()


def press_stop_once_something_is_written(page: Page) -> None:
    """Lets the page itself press Stop when a caret is there: a small model may be done before a test hears of it."""
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
    """The field whose label begins with `field`; what it is good for may stand behind."""
    return panel.get_by_label(re.compile(rf"^\s*{field}"))


def fill(panel: Locator, field: str, text: str) -> None:
    find(panel, field).fill(text)


def expect_live_answer(panel: Locator) -> None:
    """What is shown is no longer the recorded example, and says what made it."""
    header = panel.locator(".header-line .run-header")
    expect(header).not_to_contain_text("Recorded example")
    expect(header).to_contain_text(re.compile(r"revision \w+ Apache-2\.0 [\d.]+ m?s"))


def expect_heatmap(panel: Locator, *tokens: str) -> None:
    """A heatmap is drawn, and these tokens are named on its axes."""
    frame = panel.locator(".heatmap-frame")
    expect(frame.locator(".heatmaplayer image, .heatmaplayer path").first).to_be_attached()
    for token in tokens:
        expect(frame.locator(".ytick").filter(has_text=token).first).to_be_attached()
