"""The tab Inside: a walk by pointer, keyboard and address, with a text of the visitor's own."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.api.server import Server
from tests.browser.conftest import Open
from tests.browser.reading import fill, open_tab


def look_inside(page: Page, step: str = "") -> Locator:
    """The panel of the tab, once it stands; at the step whose title begins with `step`."""
    panel = open_tab(page, "Inside")
    expect(panel.get_by_role("heading", name="1. Text becomes tokens")).to_be_visible()
    if step:
        panel.get_by_role("radio", name=step).check(force=True)
        expect(panel.get_by_role("heading", name=re.compile(rf"^\d\. {step}"))).to_be_visible()
    return panel


def expect_pieces(panel: Locator, vocabulary: str, *pieces: str) -> None:
    shown = panel.get_by_role("list", name=vocabulary).locator("bdi")
    expect(shown).to_have_text(list(pieces))


class TestOwnText:
    def test_the_first_step_is_there_at_once_and_follows_the_visitors_text(self, page: Page) -> None:
        panel = look_inside(page)
        expect(panel.get_by_role("list", name="WordPiece").locator("bdi")).to_have_count(16)
        fill(panel, "Your text", "An unaffable robot")
        panel.get_by_role("button", name="Look inside").click()
        expect_pieces(panel, "WordPiece", "[CLS]", "an", "una", "##ffa", "##ble", "robot", "[SEP]")
        expect_pieces(panel, "Byte-level", "An", "Ġun", "aff", "able", "Ġrobot")
        expect_pieces(panel, "Pieces of the translation", "▁An", "▁un", "aff", "able", "▁rob", "ot", "</s>")
        panel.get_by_role("button", name="a pair with blanks").click()
        segments = panel.get_by_role("region", name="BERT’s input").get_by_role("row").nth(2).get_by_role("cell")
        expect(segments).to_have_text(["0"] * 8 + ["1"] * 7)

    def test_a_part_of_the_whole_opens_its_step_at_its_layer(self, page: Page) -> None:
        panel = look_inside(page)
        whole = panel.get_by_role("navigation", name="The whole in one picture")
        expect(whole.locator("[aria-current]")).to_contain_text("tokens")
        whole.get_by_role("button", name="Layer 2: feed-forward").click()
        expect(panel.get_by_role("heading", name="5. Many heads, and the rest")).to_be_visible()
        here = whole.locator("[aria-current]")
        expect(here).to_have_accessible_name("Layer 2: feed-forward, 1536 wide")
        expect(whole.locator("img.way")).to_have_count(7)
        expect(panel.get_by_role("spinbutton", name="Layer")).to_have_value("2")
        whole.get_by_role("button", name="in all").click()
        expect(panel.get_by_role("heading", name="8. Counting")).to_be_visible()
        whole.get_by_role("button", name="tokens").click()
        expect(panel.get_by_role("heading", name="1. Text becomes tokens")).to_be_visible()

    def test_a_translation_is_followed_token_by_token(self, page: Page) -> None:
        panel = look_inside(page)
        fill(panel, "Your text", "The red car is in front of the house.")
        panel.get_by_role("radio", name="Encoder and decoder").check(force=True)
        expect(panel.get_by_text(re.compile(r"^Token 1 of \d+: it writes “La”"))).to_be_visible()
        step = panel.get_by_label("number input for Token to write")
        step.fill("2")
        step.press("Enter")
        expect(
            panel.get_by_text(re.compile(r"^Token 2 of \d+: it writes “voiture” and looks most at “car”"))
        ).to_be_visible()
        expect(panel.get_by_text("Written so far: La")).to_be_visible()
        expect(
            panel.get_by_role("list", name="The likeliest next tokens").get_by_role("listitem").first
        ).to_contain_text("voiture")
        expect(panel.get_by_role("region", name="Four ways to score").get_by_role("row")).to_have_count(5)


def test_an_address_opens_its_view(open_page: Open, server: Server) -> None:
    query = "?inside=vectors&text=A+quiet+street.&checkpoint=clearhead-stories&layer=0&head=0&position=1"
    page = open_page(server.url + query)
    panel = page.get_by_role("tabpanel").filter(visible=True)
    expect(panel.get_by_role("heading", name="2. Tokens become vectors")).to_be_visible()
    expect(panel.get_by_text("“quiet” becomes 384 numbers: token + position.")).to_be_visible()
    expect(panel.get_by_label("Your text")).to_have_value("A quiet street.")
    expect(panel.locator(".inside-step .heatmaplayer image").first).to_be_attached()
    expect(panel.get_by_label("Word").filter(visible=True)).to_have_value("2: quiet")
    page.goto(server.url + "?inside=head&text=A+quiet+street.&layer=1&head=2&position=2")
    expect(panel.get_by_text(re.compile("In layer 2, head 3, “quiet” gives"))).to_be_visible()
    expect(panel.get_by_role("spinbutton", name="Layer")).to_have_value("2")
    expect(panel.get_by_role("spinbutton", name="Head")).to_have_value("3")
