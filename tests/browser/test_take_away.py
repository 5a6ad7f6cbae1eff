"""Pictures, numbers and pages are saved as files, and a shared link opens a run until its owner ends it."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, find, open_tab, press

ON_SCREEN = """() => {
  const plots = [...document.querySelectorAll('.heatmap-frame .js-plotly-plot')];
  const traces = plots.find((each) => each.offsetParent)._fullData;
  return [...traces[0].z].map((_, row) => traces.flatMap(({z}) => [...z[row]]));
}"""


def unfold(panel: Locator) -> Locator:
    """The tools to take away what `panel` shows."""
    tool = panel.locator(".tool").filter(has_text="Take it away")
    tool.wait_for()
    for folded in tool.locator("button:not(.open)").filter(has_text=re.compile("^Take it away")).all():
        folded.click()
    return tool


def save(page: Page, tool: Locator, button: str) -> Path:
    with page.expect_download() as download:
        tool.get_by_role("button", name=button, exact=True).click()
    path = Path(download.value.path())
    return path.rename(path.with_name(download.value.suggested_filename))


def run_sentiment(page: Page, word: str, text: str) -> Locator:
    panel = choose_tab(page, "Sentiment")
    fill(panel, "Your text", text)
    press(panel, "Read it")
    expect_live_answer(panel)
    expect(panel.locator(".sentence").get_by_role("button", name=word, exact=True)).to_be_visible()
    return panel


def as_drawn(rows: list[list[float]]) -> list[list[float]]:
    """Numbers in the precision in which the picture has them."""
    return np.array(rows, dtype=np.float32).tolist()


@contextmanager
def opened_alone(browser: Browser, path: Path, folder: Path, **options: object) -> Iterator[Page]:
    """A copy of the saved page, opened without a network; it asks for nothing, and nothing fails."""
    saved = folder / path.name
    saved.write_bytes(path.read_bytes())
    context = browser.new_context(offline=True, **options)  # type: ignore[arg-type]
    alone = context.new_page()
    own = (saved.as_uri(), "data:")
    wrong: list[str] = []
    alone.on("console", lambda message: wrong.append(message.text))
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.on("request", lambda each: None if each.url.startswith(own) else wrong.append(each.url))
    alone.goto(saved.as_uri())
    yield alone
    context.close()
    assert not wrong


def share(tool: Locator) -> str:
    tool.get_by_role("button", name="Link", exact=True).click()
    address = tool.get_by_label("Address of this run and view")
    expect(address).to_have_value(re.compile(r"\?shared=[\w-]{32}#kind="))
    return address.input_value()


class TestOnePage:
    def test_a_copied_link_opens_the_run_as_it_was_seen_and_history_can_stop_it(
        self, page: Page, open_page: Open
    ) -> None:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        panel = open_tab(page, "Sentiment")
        panel.get_by_role("button", name="Copy link").first.click()
        expect(panel.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").endswith("/?tab=sentiment")
        panel.get_by_label("Your text").fill("A shared evening.")
        panel.get_by_role("button", name="Read it", exact=True).click()
        expect_live_answer(panel)
        expect(panel.get_by_role("button", name="Copied")).to_have_count(0)
        panel.get_by_role("button", name="Copy link").first.click()
        expect(panel.get_by_role("button", name="Copied")).to_be_visible()
        address = page.evaluate("navigator.clipboard.readText()")
        guest = open_page(address)
        expect(guest.get_by_text("You see a run that was shared with you")).to_be_visible()
        expect(guest.get_by_role("tabpanel").filter(visible=True).get_by_label("Your text")).to_have_value(
            "A shared evening."
        )
        page.get_by_role("tab", name="History").click()
        expect(page.get_by_text("shared: whoever has the link can see it")).to_be_visible()
        page.get_by_role("button", name="Stop sharing").click()
        expect(page.get_by_text("shared: whoever has the link can see it")).to_have_count(0)

    def test_the_page_works_from_a_folder_without_a_network(self, page: Page, browser: Browser, tmp_path: Path) -> None:
        panel = run_sentiment(page, "delightful", "A <b>delightful</b> evening.")
        path = save(page, unfold(panel), "Page (HTML)")
        phone = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
        with opened_alone(browser, path, tmp_path, **phone) as alone:
            expect(alone.locator(".given").first).to_have_text("A <b>delightful</b> evening.")
            alone.get_by_role("button", name="delightful", exact=True).focus()
            alone.keyboard.press("ArrowRight")
            expect(alone.locator(".pointed")).to_contain_text("gives")
            alone.get_by_role("button", name="delightful", exact=True).click()
            expect(alone.locator(".pointed")).to_contain_text(
                re.compile(r"^“delightful” gives [\d.]+\s% of its weight to “")
            )
            cells = alone.locator(".cells")
            cells.scroll_into_view_if_needed()
            cells.hover(position={"x": 150, "y": 150})
            expect(alone.locator(".cell-read-out")).to_contain_text(re.compile(r"gives .+% of its weight to"))
            assert alone.evaluate("document.documentElement.scrollWidth") == 360
            assert alone.evaluate("document.documentElement.className") == "dark"

    def test_the_numbers_in_both_files_are_those_on_screen(self, page: Page) -> None:
        panel = run_sentiment(page, "unputdownable", "An unputdownable thriller.")
        panel.get_by_label("number input for Layer").fill("1")
        panel.get_by_label("number input for Head").fill("1")
        expect(panel.locator(".read-out").first).to_contain_text("in layer 1, head 1")
        panel.get_by_label("Damp marks").check()
        expect_heatmap(panel, "unputdownable")
        expect(panel.locator(".heatmap-frame .xtick").filter(has_text="not shown")).to_be_attached()
        on_screen = page.evaluate(ON_SCREEN)
        tool = unfold(panel)
        document = json.loads(save(page, tool, "Numbers (JSON)").read_text(encoding="utf-8-sig"))
        assert document["query_tokens"] == ["[CLS]", "an", "unputdownable", "thriller", ".", "[SEP]"]
        assert document["key_tokens"] == ["an", "unputdownable", "thriller", "not shown"]
        assert (document["layer"], document["head"], document["how"]) == (1, 1, "head")
        assert as_drawn(on_screen) == as_drawn(document["weights"])
        path = save(page, tool, "Numbers (CSV)")
        assert path.name == "clearhead-sentiment-encoder-layer-1-head-1.csv"
        lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
        table = lines[lines.index([]) + 2 :]
        assert [[float(cell) for cell in row[1:]] for row in table] == document["weights"]

    def test_a_step_of_inside_is_taken_away_as_a_page_and_as_numbers(
        self, page: Page, browser: Browser, tmp_path: Path
    ) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="3 Queries, keys, values").check()
        expect(panel.locator(".qkv")).to_be_visible()
        tool = unfold(panel)
        numbers = json.loads(save(page, tool, "Numbers (JSON)").read_text(encoding="utf-8"))
        weights = np.array(numbers["numbers"]["numbers"]["weights"])
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
        assert numbers["step"] == "head" and numbers["layer"] == numbers["numbers"]["layer"] + 1
        assert numbers["position"] == numbers["numbers"]["position"] + 1
        panel.get_by_role("radio", name="2 Tokens become vectors").check()
        expect(panel.locator(".js-plotly-plot").first).to_be_visible()
        path = save(page, tool, "Page (HTML)")
        with opened_alone(browser, path, tmp_path, viewport={"width": 1280, "height": 720}) as alone:
            expect(alone.locator(".js-plotly-plot").first).to_be_visible()


def test_a_link_opens_the_run_at_its_view_and_nothing_else_until_its_owner_ends_it(open_page: Open) -> None:
    owner = open_page(permissions=["clipboard-read", "clipboard-write"])
    run_sentiment(owner, "mine", "Mine alone.")
    panel = run_sentiment(owner, "shared", "A shared evening.")
    panel.get_by_label("number input for Layer").fill("3")
    panel.get_by_label("number input for Layer").press("Enter")
    expect(panel.locator(".read-out").first).to_contain_text("in layer 3, head")
    panel.get_by_label("Damp marks").check()
    expect(panel.locator(".sentence .rest")).to_be_visible()
    said = panel.locator(".read-out").first.inner_text()
    tool = unfold(panel)
    address = share(tool)
    tool.get_by_role("button", name="Copy the link").click()
    expect(tool.get_by_text("Copied.")).to_be_visible()
    assert owner.evaluate("navigator.clipboard.readText()") == address

    guest = open_page(address)
    expect(guest.get_by_text("You see a run that was shared with you")).to_be_visible()
    panel = guest.get_by_role("tabpanel").filter(visible=True)
    expect(find(panel, "Your text")).to_have_value("A shared evening.")
    expect_live_answer(panel)
    expect(panel.locator(".read-out").first).to_have_text(said)
    expect(panel.get_by_label("number input for Layer")).to_have_value("3")
    expect(panel.get_by_label("Damp marks")).to_be_checked()
    expect(panel.locator(".sentence .rest")).to_be_visible()
    own = unfold(panel)
    assert json.loads(save(guest, own, "Numbers (JSON)").read_text(encoding="utf-8-sig"))["run_id"] is None
    own.get_by_role("button", name="Link", exact=True).click()
    expect(own.get_by_role("alert")).to_contain_text("Only a run that this browser made")
    guest.get_by_role("tab", name="History").click()
    expect(guest.get_by_text("Nothing here yet.")).to_be_visible()

    tool.get_by_role("button", name="Stop sharing").click()
    expect(tool.get_by_text("No longer shared")).to_be_visible()
    late = open_page(address)
    expect(late.get_by_role("alert").filter(visible=True)).to_contain_text("belongs to another host")
    expect(late.locator(".run-header").filter(visible=True)).to_contain_text("Recorded example")

    again = share(tool)
    assert again != address
    owner.get_by_role("tab", name="History").click()
    owner.get_by_role("button", name="Delete: Sentiment: A shared evening.").click()
    expect(owner.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(1)
    later = open_page(again)
    expect(later.get_by_role("alert").filter(visible=True)).to_contain_text("the run was deleted")
