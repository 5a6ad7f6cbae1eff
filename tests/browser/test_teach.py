"""Teaching through the page: a ready set, classes of one's own, a refusal, and a run from the history."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.reading import expect_heatmap, expect_live_answer, fill, open_tab, press


def teach(panel: Locator, number: int, name: str, *examples: str) -> None:
    """Name a class and give it examples."""
    fill(panel, f"Class {number}", name)
    fill(panel, f"Examples of class {number}", "\n".join(examples))


def lines_drawn(panel: Locator) -> Locator:
    return panel.locator(".curve-frame .scatterlayer .js-line")


class TestOnePage:
    def test_on_a_phone_nothing_scrolls_sideways_and_the_button_is_in_view(self, page: Page) -> None:
        desk = page.viewport_size
        page.set_viewport_size({"width": 360, "height": 800})
        panel = open_tab(page, "Teach it")
        expect(lines_drawn(panel)).to_have_count(3)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        box = panel.get_by_role("button", name="Teach it", exact=True).bounding_box()
        assert box is not None and box["y"] + box["height"] <= 800
        assert desk
        page.set_viewport_size(desk)

    def test_it_opens_on_what_was_recorded_and_a_ready_set_fills_the_form(self, page: Page) -> None:
        panel = open_tab(page, "Teach it")
        expect(panel.locator(".run-header")).to_contain_text("Recorded example")
        expect(panel.get_by_label("Class 1", exact=True)).to_have_value("polite")
        expect(panel.get_by_role("list", name="Probability of each class")).to_contain_text("rude")
        expect(panel.locator(".taught")).to_have_text(
            re.compile(r"\d+ of 20 kept examples right; guessing would get 10")
        )
        expect(panel.get_by_role("heading", name="With 4 examples a class, BERT’s vectors are right")).to_be_visible()
        expect(lines_drawn(panel)).to_have_count(3)
        panel.get_by_role("button", name="three topics").click()
        expect_live_answer(panel)
        expect(panel.get_by_label("Class 3", exact=True)).to_have_value("science")
        expect(panel.get_by_label("Examples of class 2", exact=True)).to_have_value(re.compile("^Fry the onions"))
        expect(panel.get_by_role("heading", name="The new text: “cooking”")).to_be_visible()
        expect(panel.locator(".result.stale")).to_have_count(0)
        panel.get_by_text("The curve as a table").click()
        expect(panel.get_by_role("region", name="Accuracy against the number of examples")).to_contain_text("random")
        expect_heatmap(panel, "dough")

    def test_classes_of_ones_own_are_taught_and_one_example_is_not_enough(self, page: Page) -> None:
        panel = open_tab(page, "Teach it")
        panel.get_by_role("button", name="polite or rude").click()
        # Until then this answer may still come, and take the place of what is said to the next one.
        expect(panel.get_by_role("heading", name="The new text: “polite”")).to_be_visible()
        expect(panel.get_by_label("Class 3", exact=True)).to_have_count(0)
        panel.get_by_role("button", name="Examples kept for the test").click()
        for number in (1, 2):
            fill(panel, f"Kept of class {number}", "")
        teach(panel, 1, "weather", "It rains.", "The sun is out.", "Snow lies on the hills.")
        teach(panel, 2, "money", "The bill is paid.", "I owe you five pounds.")
        press(panel, "Add a class")
        teach(panel, 3, "animals", "The dog barks.")
        fill(panel, "A new text to judge", "Clouds are coming in.")
        press(panel, "Teach it")
        refused = panel.get_by_text("The class “animals” has one example. Please give each class at least two.")
        expect(refused).to_be_visible()
        expect(panel.get_by_label("Examples of class 3", exact=True)).to_have_value("The dog barks.")
        teach(panel, 3, "animals", "The dog barks.", "A cat sleeps on the roof.")
        press(panel, "Teach it")
        expect(panel.get_by_role("heading", name="The new text: “weather”")).to_be_visible()
        expect(refused).to_have_count(0)
        expect(panel.locator(".taught")).to_contain_text("of 7 examples, each judged without having been taught, right")
        expect(panel.locator(".result.stale")).to_have_count(0)

    def test_history_brings_the_examples_back(self, page: Page) -> None:
        page.get_by_role("tab", name="History").click()
        runs = page.get_by_role("list", name="Runs").get_by_role("listitem")
        expect(runs.first).to_contain_text("weather or money or animals: Clouds are coming in.")
        runs.filter(has_text="sport or cooking").first.get_by_role("button", name="Open").click()
        panel = page.get_by_role("tabpanel").filter(visible=True)
        expect(panel.get_by_label("Class 2", exact=True)).to_have_value("cooking")
        expect(panel.get_by_role("heading", name="The new text: “cooking”")).to_be_visible()
