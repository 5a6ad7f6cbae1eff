"""How soon does a visitor see the page over a slow line, and how much is sent for it?

`python -m benchmarks.first_page` starts the app and opens it three times in Chromium, each time without anything kept
from before, over an emulated line of 3 Mbit/s that answers after 40 ms. It prints the medians of the times until the
masthead is painted, the first example can be read, and its picture is there, and the bytes that came over the line by
kind. It returns 1 if the HTML has more than 400 kB or the first paint takes more than 2 s.
"""

import shutil
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks.load import app

MOST_HTML_BYTES = 400_000
MOST_FIRST_PAINT_S = 2.0
_LOADS = 3
_LINE = {"offline": False, "latency": 40, "downloadThroughput": 375_000, "uploadThroughput": 375_000}
_PATIENCE_MS = 120_000
_FIRST_PAINT_MS = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@dataclass(frozen=True)
class FirstPage:
    """Seconds since the address was entered, and the bytes received until the picture is there, headers included."""

    first_paint_s: float
    readable_s: float
    picture_s: float
    bytes_by_kind: Counter[str]


def first_page(browser: Browser, url: str) -> FirstPage:
    """One visit by a browser that has kept nothing."""
    with browser.new_context(viewport={"width": 1280, "height": 720}) as context:
        page = context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        kinds: dict[str, str] = {}
        received: Counter[str] = Counter()

        def answered(event: dict[str, Any]) -> None:
            kinds[event["requestId"]] = event["type"]

        def finished(event: dict[str, Any]) -> None:
            received[kinds.get(event["requestId"], "Other")] += int(event["encodedDataLength"])

        network = context.new_cdp_session(page)
        network.on("Network.responseReceived", answered)
        network.on("Network.loadingFinished", finished)
        network.send("Network.enable")
        network.send("Network.emulateNetworkConditions", _LINE)
        page.goto(url, wait_until="commit")
        page.locator(".answer:visible").first.wait_for()
        readable_ms = page.evaluate("performance.now()")
        page.locator(".js-plotly-plot .main-svg:visible").first.wait_for()
        picture_ms = page.evaluate("performance.now()")
        painted_ms = page.evaluate(_FIRST_PAINT_MS)
    return FirstPage(painted_ms / 1000, readable_ms / 1000, picture_ms / 1000, received)


def main() -> int:
    """Measure, print, and return 1 where the page is too large or too slow."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("There is no Chromium here.")
    with app() as (url, _process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        loads = [first_page(browser, url) for _ in range(_LOADS)]
        browser.close()
    first_paint_s = statistics.median(load.first_paint_s for load in loads)
    print(f"first paint       {first_paint_s:8.2f} s")
    print(f"example readable  {statistics.median(load.readable_s for load in loads):8.2f} s")
    print(f"picture there     {statistics.median(load.picture_s for load in loads):8.2f} s")
    received = loads[-1].bytes_by_kind
    for kind, size in received.most_common():
        print(f"{kind:<18}{size / 1000:8.0f} kB")
    print(f"{'everything':<18}{received.total() / 1000:8.0f} kB")
    return 0 if received["Document"] <= MOST_HTML_BYTES and first_paint_s <= MOST_FIRST_PAINT_S else 1


if __name__ == "__main__":
    sys.exit(main())
