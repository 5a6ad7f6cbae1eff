"""Two sentences through the page: four answers, the parts of their attention, and ranked endings in the fold."""

from playwright.sync_api import Page, expect

from tests.browser.reading import choose_tab, expect_heatmap, expect_live_answer, fill, open_fold, open_tab, press


class TestOnePage:
    def test_a_pair_is_compared_and_its_sentences_kept_apart(self, page: Page) -> None:
        panel = choose_tab(page, "Two sentences")
        fill(panel, "The first text, A", "Two girls are eating cherries.")
        fill(panel, "The second text, B", "Nobody is eating.")
        press(panel, "Compare them")
        expect_live_answer(panel)
        for asked in ("Does the second follow?", "Does the first imply it?", "Do they say the same?"):
            expect(panel.get_by_role("list", name=asked)).to_contain_text("%")
        expect(panel.get_by_role("list", name="The two vectors").locator("img")).to_have_count(2)
        panel.get_by_text("As BERT reads the pair").click()
        expect(panel.get_by_role("row", name="segment")).to_contain_text("00000000011111")
        expect_heatmap(panel, "cherries", "nobody")
        expect(panel.locator(".crossing")).to_contain_text("crosses to words of the other sentence")
        panel.get_by_role("radio", name="from A to B").check()
        expect(panel.get_by_role("group", name="The first text looks")).to_contain_text("cherries")
        expect(panel.get_by_role("group", name="at the second")).to_contain_text("nobody")
        panel.get_by_role("radio", name="within B").check()
        words = panel.get_by_role("group", name="The text: choose a word")
        expect(words).to_contain_text("nobody")
        expect(words).not_to_contain_text("cherries")

    def test_endings_are_ranked_by_two_models_and_reopened_from_the_history(self, page: Page) -> None:
        panel = choose_tab(page, "Two sentences")
        open_fold(panel.get_by_role("button", name="Which ending?"))
        fill(panel, "The beginning", "The baby began to cry.")
        panel.get_by_label("Endings").fill("Its mother took it in her arms.")
        press(panel, "Rank them")
        expect(panel.get_by_role("alert").filter(has_text="There must be 2 to 4 endings.")).to_be_visible()
        panel.get_by_label("Endings").fill("Its mother took it in her arms.\nThe bank opens at nine.")
        press(panel, "Rank them")
        for name in ("Probability that it comes next", "Mean log-probability of a token"):
            expect(panel.get_by_role("list", name=name)).to_contain_text("The bank opens at nine.")
        page.get_by_role("tab", name="History").click()
        page.get_by_role("button", name="Open: Which ending?: The baby").first.click()
        panel = page.locator("#tab-two-sentences")
        expect(panel.get_by_label("Endings")).to_have_value("Its mother took it in her arms.\nThe bank opens at nine.")
        expect(panel.get_by_role("list", name="Probability that it comes next")).to_contain_text("Its mother")

    def test_nothing_scrolls_sideways_on_a_small_phone(self, page: Page) -> None:
        page.set_viewport_size({"width": 360, "height": 740})
        panel = open_tab(page, "Two sentences")
        expect(panel.get_by_label("Endings")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
