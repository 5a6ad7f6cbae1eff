"""Before Transformers through the page: a row opens, a word is left out, and models change their minds."""

import re

from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, expect_live_answer, fill, find, press


def test_a_word_is_left_out_and_rows_open(page: Page) -> None:
    panel = choose_tab(page, "Before")
    rows = panel.locator(".generations details")
    expect(rows).to_have_count(12)
    rows.nth(7).locator("summary").click()
    expect(rows.nth(7).get_by_role("img")).to_have_count(4)
    expect(rows.nth(7)).to_contain_text("forget gate")
    fill(panel, "Your text", "I do not love this movie.")
    panel.get_by_role("button", name="not", exact=True).click()
    expect(find(panel, "The same with one word changed")).to_have_value("I do love this movie.")
    press(panel, "Ask them all")
    expect_live_answer(panel)
    answer = panel.locator(".block.answer")
    expect(answer).to_contain_text(re.compile("change their minds|No model changes its mind"))
    expect(answer.locator(".both-ways .changed")).to_have_count(12)
    rows.nth(0).locator("summary").click()
    expect(rows.nth(0).get_by_role("list")).to_contain_text("love")
    expect(panel.locator(".js-plotly-plot .scatterlayer .trace").first).to_be_attached()
