"""Take screenshots of every tab of a running demo, and record a visitor's first minute as a GIF of 20 seconds.

`python docs/screenshots.py http://127.0.0.1:7860` writes into `docs/screenshots` and `assets/preview.png`.
"""

import io
import re
import shutil
import sys
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

FOLDER = Path(__file__).resolve().parent / "screenshots"
PREVIEW = FOLDER.parent.parent / "assets" / "preview.png"
TABS = {
    "fill-the-blank": "Fill the blank",
    "sentiment": "Sentiment",
    "questions": "Questions",
    "names": "Names",
    "two-sentences": "Two sentences",
    "translate": "Translate",
    "write-on": "Write on",
    "inside": "Inside",
    "surprise": "Surprise",
    "one-word": "One word",
    "teach-it": "Teach it",
    "training": "Training",
    "before-transformers": "Before",
}
DESKTOP = {"width": 1440, "height": 900}
LECTURE = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
CARD = {"width": 1200, "height": 630}
FILM = {"width": 1120, "height": 700}
FRAME_S = 0.2
FILM_S = 20


def photograph(page: Page, tab: str, path: Path) -> None:
    """Save a screenshot of the tab as it opens, once its figure is drawn."""
    page.get_by_role("tab", name=tab).click()
    panel = page.get_by_role("tabpanel").filter(visible=True)
    if tab not in ("Inside", "Surprise", "One word", "Teach it", "Training", "Before"):
        panel.locator(".heatmap-frame .heatmaplayer").wait_for(state="attached")
    page.evaluate("document.activeElement.blur()")
    # Nothing on the page says that plotly has drawn its axis labels.
    page.wait_for_timeout(500)
    save(page.screenshot(), path)


def save(png: bytes, path: Path) -> None:
    """Write a picture of the page in 256 colours, which is a third of its size."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256).save(path, optimize=True)


class Film:
    """Frames of a page, one every `FRAME_S` seconds, saved as an animated GIF."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []

    def roll(self, seconds: float) -> None:
        """Take frames for `seconds`, up to `FILM_S` seconds in all."""
        ends = time.monotonic() + seconds
        while (begun := time.monotonic()) < ends and len(self.frames) * FRAME_S < FILM_S:
            frame = Image.open(io.BytesIO(self.page.screenshot()))
            self.frames.append(frame.convert("RGB").quantize(48, dither=Image.Dither.NONE))
            self.page.wait_for_timeout(max(0.0, 1000 * (FRAME_S - (time.monotonic() - begun))))

    def write(self, path: Path) -> None:
        """Write the film as a GIF that loops."""
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=round(1000 * FRAME_S), loop=0, optimize=True)


def record(page: Page, url: str) -> None:
    """Record a visitor's first minute: a blank filled, words pointed at, sentiment, a story, a look inside."""
    page.goto(url)
    page.locator(".heatmap-frame .heatmaplayer").first.wait_for(state="attached")
    film = Film(page)
    film.roll(1.5)
    panel = page.get_by_role("tabpanel").filter(visible=True)
    panel.get_by_label("Your text").fill("The cat sat on the [MASK] and looked out of the window.")
    film.roll(1)
    panel.get_by_role("button", name="Fill the blank", exact=True).click()
    film.roll(2.5)
    for word in ("cat", "window"):
        panel.locator(".sentence").get_by_role("button", name=word, exact=True).hover()
        film.roll(1)
    page.get_by_role("tab", name="Sentiment").click()
    film.roll(1)
    panel = page.get_by_role("tabpanel").filter(visible=True)
    panel.get_by_label("Your text").fill("I expected to be bored, and I was not.")
    panel.get_by_role("button", name="Read it", exact=True).click()
    film.roll(2.5)
    page.get_by_role("tab", name="Write on").click()
    film.roll(1)
    panel = page.get_by_role("tabpanel").filter(visible=True)
    panel.get_by_role("button", name="Write on", exact=True).click()
    film.roll(3)
    page.get_by_role("tab", name="Inside").click()
    panel = page.get_by_role("tabpanel").filter(visible=True)
    panel.get_by_role("radio", name="3 Queries, keys, values").check()
    film.roll(FILM_S)
    film.write(FOLDER / "first-minute.gif")


def photograph_tools(page: Page, tab: str) -> None:
    """Save the attention reader's tools under `tab`, unfolded and used: all heads, a second opinion, a change tried."""
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
    change.get_by_role("button", name="Compare", exact=True).click()
    change.locator(".compared").wait_for()
    page.evaluate("document.activeElement.blur()")
    for name, tool in (("all-heads", heads), ("second-opinion", opinion), ("try-it", change)):
        tool.screenshot(path=FOLDER / f"{name}.png")


def photograph_lecture(page: Page, url: str) -> None:
    """Save a step of a lecture, as the room sees it."""
    page.goto(f"{url.rstrip('/')}/?lecture=attention&step=3")
    page.locator(".inside-step").filter(visible=True).first.wait_for()
    page.wait_for_timeout(3000)
    save(page.screenshot(), FOLDER / "lecture.png")


def photograph_tour(page: Page, url: str) -> None:
    """Save all cards of the tour on a phone, as they open, in one picture."""
    page.goto(f"{url}?tour=first-steps")
    card = page.get_by_role("region", name="Tour")
    pictures = []
    for number in range(1, 10):
        card.get_by_text(f"Card {number} of").wait_for()
        page.wait_for_timeout(1500)
        pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").reduce(2))
        card.get_by_role("button", name="Next").click()
    width, height = pictures[0].size
    sheet = Image.new("RGB", (3 * (width + 12) - 12, 3 * (height + 12) - 12), "#9a9ca1")
    for place, picture in enumerate(pictures):
        sheet.paste(picture, (place % 3 * (width + 12), place // 3 * (height + 12)))
    sheet.quantize(256).save(FOLDER / "tour.png", optimize=True)


def main(url: str) -> None:
    """Save each tab in light, the reader, a lecture, the tour; one tab dark, on a phone, in French; card and film."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        light = browser.new_page(viewport=DESKTOP, color_scheme="light")
        light.goto(url)
        for name, tab in TABS.items():
            photograph(light, tab, FOLDER / f"{name}.png")
        photograph_tools(light, TABS["sentiment"])
        photograph_lecture(browser.new_page(viewport=LECTURE, color_scheme="light"), url)
        for name, tab, options in (
            ("translate-dark", TABS["translate"], {"viewport": DESKTOP, "color_scheme": "dark"}),
            ("fill-the-blank-phone", TABS["fill-the-blank"], {"viewport": PHONE, "color_scheme": "light"}),
            ("card", TABS["fill-the-blank"], {"viewport": CARD, "color_scheme": "light"}),
        ):
            page = browser.new_page(**options)  # type: ignore[arg-type]
            page.goto(url)
            photograph(page, tab, PREVIEW if name == "card" else FOLDER / f"{name}.png")
        french = browser.new_page(viewport=DESKTOP, color_scheme="light", locale="fr-FR")
        french.goto(url)
        french.locator(".heatmap-frame .heatmaplayer").first.wait_for(state="attached")
        french.wait_for_timeout(500)
        save(french.screenshot(), FOLDER / "in-french.png")
        photograph_tour(browser.new_page(viewport=PHONE, device_scale_factor=2, reduced_motion="reduce"), url)
        record(browser.new_page(viewport=FILM, color_scheme="light"), url)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7860")
