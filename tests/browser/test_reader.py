"""The attention reader through the page: words, colours, heads, a second opinion, and trying changes."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.reading import choose_tab, expect_live_answer, fill, press


def test_a_word_colours_the_others_by_pointer_and_by_keyboard(page: Page) -> None:
    panel = choose_tab(page, "Sentiment")
    sentence = panel.locator(".sentence")
    sentence.get_by_role("button", name="joy", exact=True).hover()
    expect(sentence.locator(".pointed")).to_contain_text(re.compile(r"^“joy” gives [\d.]+\s% to “"))
    expect(sentence.locator(".word[data-step='7']").first).to_be_visible()
    sentence.get_by_role("button", name="quiet", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(sentence.get_by_role("button", name="little", exact=True)).to_be_focused()
    expect(sentence.locator(".pointed")).to_contain_text("“little” gives")
    sentence.get_by_role("button", name="receives", exact=True).click()
    expect(sentence.locator(".pointed")).to_contain_text(re.compile(r"“little” receives .+ from “"))


def test_a_french_word_lights_up_english_ones_and_the_other_way_round(page: Page) -> None:
    panel = choose_tab(page, "Translate")
    wrote, read = panel.locator(".words").all()
    wrote.get_by_role("button").first.focus()
    expect(read.locator("[data-step]").first).to_be_visible()
    expect(wrote.locator("[data-step]")).to_have_count(0)
    read.get_by_role("button").nth(1).focus()
    expect(wrote.locator("[data-step]").first).to_be_visible()
    expect(read.locator("[data-step]")).to_have_count(0)


def test_hidden_tokens_leave_their_weight_in_a_column_and_pieces_can_be_seen(page: Page) -> None:
    panel = choose_tab(page, "Sentiment")
    fill(panel, "Your text", "An unputdownable thriller.")
    press(panel, "Read it")
    expect_live_answer(panel)
    sentence = panel.locator(".sentence")
    expect(sentence.get_by_role("button", name="unputdownable", exact=True)).to_be_visible()
    panel.get_by_label("Special tokens").uncheck()
    expect(sentence.get_by_role("button", name="[CLS]")).to_have_count(0)
    expect(panel.locator(".heatmap-frame .xtick").filter(has_text="not shown")).to_be_attached()
    expect(sentence.locator(".rest")).to_have_attribute("data-share", re.compile(r"%$"))
    panel.get_by_label("Whole words").uncheck()
    expect(sentence.get_by_role("button", name="unputdownable", exact=True)).to_have_count(0)
    expect(sentence.locator(".word").filter(has_text="##").first).to_be_visible()


def test_a_head_is_opened_from_the_sheet_by_keyboard(page: Page) -> None:
    panel = choose_tab(page, "Fill the blank")
    panel.get_by_role("button", name="All heads at once").click()
    panel.get_by_role("button", name=re.compile("^Layer 1, head 1:")).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(panel.locator(".reading .read-out")).to_contain_text("in layer 2, head 2.")
    expect(panel.get_by_label("number input for Head")).to_have_value("2")
    expect(panel.locator(".head-role")).to_contain_text("What this head does with this text")
    expect(panel.get_by_role("button", name=re.compile("^Layer 2, head 2:"), pressed=True)).to_be_visible()


def test_many_heads_can_be_read_in_four_ways(page: Page) -> None:
    panel = choose_tab(page, "Fill the blank")
    for way, said in (
        ("Maximum", "in one of all heads"),
        ("Rollout", "has come from"),
        ("Mean", "on average over all layers and heads"),
        ("One head", "in layer 1, head 1."),
    ):
        panel.get_by_role("radio", name=way).check()
        expect(panel.locator(".reading .read-out")).to_contain_text(said)


def test_a_second_opinion_and_a_comparison_stay_when_tabs_change(page: Page) -> None:
    panel = choose_tab(page, "Sentiment")
    panel.get_by_role("button", name="A second opinion").click()
    panel.get_by_role("button", name="Work it out").click()
    expect(panel.locator(".tool-result").first).to_contain_text("rank correlation")
    panel.get_by_role("button", name="Try it").click()
    panel.get_by_role("radio", name="Replace a token").check()
    panel.get_by_label("What to put there").fill("dreadful")
    panel.get_by_role("button", name="Compare", exact=True).click()
    compared = panel.locator(".compared")
    expect(compared.get_by_role("heading", name="Before")).to_be_visible()
    expect(compared.get_by_role("heading", name="With “dreadful” there")).to_be_visible()
    choose_tab(page, "Translate")
    panel = choose_tab(page, "Sentiment")
    expect(panel.locator(".compared")).to_be_visible()
    expect(panel.locator(".tool-result").first).to_contain_text("rank correlation")


def test_a_head_must_be_chosen_before_it_can_be_switched_off(page: Page) -> None:
    panel = choose_tab(page, "Sentiment")
    panel.get_by_role("button", name="Try it").click()
    panel.get_by_role("button", name="Compare", exact=True).click()
    expect(panel.get_by_role("alert").filter(visible=True)).to_contain_text("Choose one head above first")
    panel.get_by_role("radio", name="One head").check()
    expect(panel.locator(".reading .read-out")).to_contain_text("in layer 1, head 1.")
    panel.get_by_role("button", name="Compare", exact=True).click()
    expect(panel.locator(".compared")).to_contain_text("With layer 1, head 1 switched off")


def test_every_picture_has_a_name_and_a_table(open_page: Open) -> None:
    panel = choose_tab(open_page(viewport={"width": 360, "height": 740}), "Questions")
    expect(panel.locator(".heatmap-frame")).to_have_attribute("aria-label", re.compile("^Heatmap. “"))
    panel.get_by_text("The same as a table").first.click()
    row = panel.get_by_role("table").first.get_by_role("rowheader").first
    expect(row).to_be_visible()
    panel.get_by_label("Special tokens").uncheck()
    expect(panel.locator(".block.reading")).to_contain_text("not in the picture")
    expect(row).to_be_visible()
