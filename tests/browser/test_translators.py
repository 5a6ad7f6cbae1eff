"""Translating before Transformers through the page: five translations, and an LSTM's attention."""

from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, open_fold, press


def test_a_sentence_goes_through_five_translators_and_another_attention_is_drawn(page: Page) -> None:
    panel = choose_tab(page, "Translate")
    open_fold(panel.get_by_role("button", name="Translating before Transformers"))
    fold = panel.locator(".tool").filter(has_text="Why one vector is not enough")
    rows = fold.locator(".translators li")
    expect(rows).to_have_count(5)
    fold.get_by_label("Your English sentence").fill("Two dogs run on the beach.")
    press(fold, "Ask them all")
    expect(rows.last).to_contain_text("Deux chiens")
    expect(fold.locator(".run-header")).not_to_contain_text("Recorded example")
    looked, transformer = fold.locator(".alignments .js-plotly-plot").all()
    expect(transformer).to_contain_text("chiens")
    drawn = looked.evaluate("plot => JSON.stringify(plot.data[0])")
    fold.get_by_role("radio", name="dot (Luong)").check()
    page.wait_for_function(
        "([plot, before]) => JSON.stringify(plot.data[0]) !== before", arg=[looked.element_handle(), drawn]
    )
    press(fold, "Ask them all")
    # A new answer begins with additive attention again, and so does the switch.
    expect(fold.get_by_role("radio", name="additive")).to_be_checked()
    page.get_by_role("tab", name="History").click()
    page.get_by_role("button", name="Open: Translating before Transformers: Two dogs").first.click()
    expect(fold.get_by_label("Your English sentence")).to_have_value("Two dogs run on the beach.")
