"""Photograph every tab of a running demo into `docs/screenshots`: `python docs/screenshots.py http://127.0.0.1:7860`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).resolve().parent / "screenshots"
TABS = {
    "fill-the-blank": "Fill the blank",
    "sentiment": "Sentiment",
    "questions": "Questions",
    "translate": "Translate",
    "write-on": "Write on",
}
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
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


def main(url: str) -> None:
    """Each tab in light at desktop width, then one in dark and one on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        light = browser.new_page(viewport=DESKTOP, color_scheme="light")
        light.goto(url)
        for name, tab in TABS.items():
            photograph(light, tab, FOLDER / f"{name}.png")
        dark = browser.new_page(viewport=DESKTOP, color_scheme="dark")
        dark.goto(url)
        photograph(dark, TABS["translate"], FOLDER / "translate-dark.png")
        phone = browser.new_page(viewport=PHONE, color_scheme="light")
        phone.goto(url)
        photograph(phone, TABS["fill-the-blank"], FOLDER / "fill-the-blank-phone.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7860")
