"""Photograph every tab of a running demo into `docs/screenshots`: `python docs/screenshots.py http://127.0.0.1:7860`."""

import re
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

FOLDER = Path(__file__).resolve().parent / "screenshots"
TABS = {
    "fill-the-blank": "Fill the blank",
    "sentiment": "Sentiment",
    "questions": "Questions",
    "translate": "Translate",
    "write-on": "Write on",
}
DESKTOP = {"width": 1280, "height": 900}
LECTURE = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}
REPLACED = ("joy", "chore")
"""In the sentiment example: the word that another takes the place of, and that other."""
_TALLEST = 1600


def photograph(page: Page, tab: str, path: Path) -> None:
    """The tab as it opens, from the top, once its figure stands."""
    page.get_by_role("tab", name=tab).click()
    panel = page.get_by_role("tabpanel").filter(visible=True)
    panel.locator(".heatmap-frame .heatmaplayer").wait_for(state="attached")
    page.evaluate("document.activeElement.blur()")
    # Nothing on the page says that plotly has drawn its axis labels.
    page.wait_for_timeout(500)
    size = page.viewport_size or DESKTOP
    height = min(_TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": size["width"], "height": height})


def photograph_tools(page: Page, tab: str) -> None:
    """The reader's tools under `tab`, each unfolded and used: all heads, a second opinion, a change tried."""
    page.get_by_role("tab", name=tab).click()
    panel = page.get_by_role("tabpanel").filter(visible=True)

    def unfolded(name: str) -> Locator:
        tool = panel.locator(".tool").filter(has_text=name)
        tool.get_by_role("button", name=re.compile(f"^{name}")).click()
        return tool

    heads = unfolded("All heads at once")
    heads.locator(".sheet img").wait_for()
    opinion = unfolded("A second opinion")
    opinion.get_by_role("button", name="Work it out").click()
    opinion.locator(".tool-result .legend").wait_for()
    change = unfolded("Try it")
    change.get_by_role("radio", name="Replace a token").check()
    change.get_by_label("Which token").click()
    page.get_by_role("option", name=re.compile(REPLACED[0])).click()
    change.get_by_label("What to put there").fill(REPLACED[1])
    change.get_by_role("button", name="Compare", exact=True).click()
    change.locator(".compared").wait_for()
    page.evaluate("document.activeElement.blur()")
    for name, tool in (("all-heads", heads), ("second-opinion", opinion), ("try-it", change)):
        tool.screenshot(path=FOLDER / f"{name}.png")


def photograph_lecture(page: Page, url: str) -> None:
    """A step of a lecture: its bar above the tab that it opens."""
    page.goto(f"{url.rstrip('/')}/?lecture=attention&step=3")
    page.locator(".inside-step").filter(visible=True).first.wait_for()
    page.wait_for_timeout(3000)
    page.screenshot(path=FOLDER / "lecture.png", clip={"x": 0, "y": 0, **LECTURE})


def main(url: str) -> None:
    """Each tab in light at desktop width, the reader's tools, a lecture; then one tab in dark and one on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        light = browser.new_page(viewport=DESKTOP, color_scheme="light")
        light.goto(url)
        for name, tab in TABS.items():
            photograph(light, tab, FOLDER / f"{name}.png")
        photograph_tools(light, TABS["sentiment"])
        photograph_lecture(browser.new_page(viewport=LECTURE, color_scheme="light"), url)
        dark = browser.new_page(viewport=DESKTOP, color_scheme="dark")
        dark.goto(url)
        photograph(dark, TABS["translate"], FOLDER / "translate-dark.png")
        phone = browser.new_page(viewport=PHONE, color_scheme="light")
        phone.goto(url)
        photograph(phone, TABS["fill-the-blank"], FOLDER / "fill-the-blank-phone.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7860")
