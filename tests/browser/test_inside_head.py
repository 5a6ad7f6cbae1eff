"""The steps from a head to the guess, in a browser: choosing a word, a layer or a head changes what they say."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open

TITLES = ("Queries, keys, values", "Masked or not", "Many heads, and the rest", "Out again")


def inside(page: Page) -> Locator:
    page.get_by_role("tab", name="Inside").click()
    return page.get_by_role("tabpanel").filter(visible=True)


def turn_to(panel: Locator, title: str) -> None:
    panel.locator(".stepper label", has_text=title).click()
    expect(panel.get_by_role("heading", name=title)).to_be_visible()


def test_a_head_is_chosen_by_its_word_layer_and_head(page: Page) -> None:
    panel = inside(page)
    turn_to(panel, "Queries, keys, values")
    said = panel.locator(".inside-finding .read-out").filter(visible=True)
    expect(said).to_contain_text("“it” gives")
    panel.get_by_role("spinbutton", name="Head").fill("12")
    panel.get_by_role("spinbutton", name="Head").press("Enter")
    expect(said).to_contain_text("head 12")
    panel.get_by_role("spinbutton", name="Layer").fill("2")
    panel.get_by_role("spinbutton", name="Layer").press("Enter")
    expect(said).to_contain_text("In layer 2, head 12")
    panel.get_by_label("Word").filter(visible=True).click()
    page.get_by_role("option", name="3: animal").click()
    expect(said).to_contain_text("“animal” gives")
    panel.get_by_text("The numbers as a table, of each vector").click()
    table = panel.get_by_role("region", name="Keys, scores, shares and values")
    expect(table.get_by_role("row")).to_have_count(16 + 2)


def test_the_lectures_scores_are_worked_out_and_others_too(page: Page) -> None:
    panel = inside(page)
    turn_to(panel, "Queries, keys, values")
    worked = panel.get_by_role("region", name="Softmax of your scores")
    expect(worked).to_contain_text("0.88")
    scores = panel.get_by_role("textbox", name="Scores of one query").filter(visible=True)
    scores.fill("1 1 1 1")
    scores.press("Enter")
    expect(worked).to_contain_text("0.25")
    scores.fill("one")
    scores.press("Enter")
    expect(panel.get_by_role("alert").filter(visible=True)).to_contain_text("Please write numbers")


def test_both_models_are_side_by_side_and_one_is_masked(page: Page) -> None:
    panel = inside(page)
    turn_to(panel, "Masked or not")
    for key in ("bert", "gpt"):
        for square in ("scores", "shares"):
            expect(panel.locator(f"#masking-{square}-{key} .heatmaplayer image")).to_have_count(1)
    expect(
        panel.locator("#masking-scores-gpt .shapelayer path, #masking-scores-gpt .layer-below path")
    ).not_to_have_count(0)
    expect(panel.get_by_text("places are −∞")).to_be_visible()
    shares = panel.get_by_role("region", name="softmax of each row").get_by_role("row").nth(2).get_by_role("cell")
    expect(shares).to_have_text(["0.48", "0.52", "0.00", "0.00"])
    panel.get_by_role("button", name="the same, not divided").filter(visible=True).click()
    expect(shares).to_have_text(["0.42", "0.58", "0.00", "0.00"])
    panel.get_by_role("button", name="the lecture’s scores").click()
    expect(shares).to_have_text(["0.48", "0.52", "0.00", "0.00"])


def test_the_block_and_the_guess_follow_the_model_that_is_chosen(page: Page) -> None:
    panel = inside(page)
    turn_to(panel, "Many heads, and the rest")
    expect(panel.get_by_text("12 heads × 32 = 384 numbers")).to_be_visible()
    expect(panel.locator(".station").filter(visible=True)).to_have_count(10)
    turn_to(panel, "Out again")
    said = panel.locator(".inside-finding .read-out").filter(visible=True)
    expect(said).to_contain_text("Which word stands at “it”?")
    guesses = panel.get_by_role("region", name="The guess after every layer")
    expect(guesses.get_by_role("row")).to_have_count(1 + 7)
    panel.get_by_label("Model").filter(visible=True).click()
    page.get_by_role("option", name="Clearhead Stories").click()
    expect(said).to_contain_text("Which word comes after")
    expect(guesses.get_by_role("row")).to_have_count(1 + 7)
    panel.get_by_label("Model").filter(visible=True).click()
    page.get_by_role("option", name="Clearhead English–French").click()
    expect(said).not_to_contain_text("Which word comes after")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_a_phone(open_page: Open, dark: bool) -> None:
    page = open_page(
        viewport={"width": 360, "height": 740}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    panel = inside(page)
    for title in TITLES:
        turn_to(panel, title)
        expect(panel.locator(".inside-finding").filter(visible=True).first).not_to_be_empty()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, title
