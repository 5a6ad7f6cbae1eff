"""A text of 512 tokens in every view of the reader: nothing goes blank, nothing stands still."""

import re

from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, press

# One token for each word and full stop, then [MASK]; with [CLS] and [SEP] that is what the model reads at once.
_SENTENCE = "it was a long day in the old town . "
_LONGEST = _SENTENCE * 50 + "it was a long old day in the [MASK] ."
"""510 tokens."""


def test_512_tokens_in_every_view(page: Page) -> None:
    panel = choose_tab(page, "Fill the blank")
    fill(panel, "Your text", _LONGEST)
    press(panel, "Fill the blank")
    expect_live_answer(panel)
    words = panel.locator(".sentence button[data-token]")
    expect(words).to_have_count(512)
    expect_heatmap(panel)
    for way, said in (
        ("Maximum", "in one of the heads of layer"),
        ("Rollout", "has come from"),
        ("One head", ", head"),
    ):
        panel.get_by_role("radio", name=way).check()
        expect(panel.locator(".read-out").first).to_contain_text(said)
        expect_heatmap(panel)
        words.nth(300).focus()
        expect(panel.locator(".sentence .pointed")).to_contain_text(re.compile(r"%"))
    panel.get_by_label("Damp marks").check()
    expect(panel.locator(".sentence .rest")).to_be_visible()
    panel.get_by_role("button", name="All heads at once").click()
    expect(panel.locator(".sheet img")).to_be_visible()
    panel.locator(".sheet").get_by_role("button", name=re.compile("^Layer 2, head 2:")).click()
    expect(panel.locator(".read-out").first).to_contain_text("in layer 2, head 2")
    panel.get_by_text("The same as a table").click()
    expect(panel.get_by_text("The first 128 rows; 384 more are not listed.")).to_be_visible()


def test_beyond_512_tokens_one_sentence_says_what_was_left_out(page: Page) -> None:
    panel = choose_tab(page, "Write on")
    fill(panel, "The beginning of your text", "Once upon a time there was a little dog. " * 110)
    press(panel, "Write on")
    alert = panel.get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text(re.compile(r"The prompt has [\d,]+ tokens; .+ the 512 that this model reads at once"))
