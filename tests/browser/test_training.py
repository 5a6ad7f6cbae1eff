"""Training through the page: a step on one's own text; a tiny model that learns, is stopped, and is reopened."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.reading import expect_live_answer, fill, open_fold, open_tab, press
from tests.browser.test_accessibility import violations_by_day_and_night

TEXT = "The wind blew, and the red boat sailed far out on the lake. The wind slept, and the red boat slept too. " * 3


def opened(page: Page) -> Locator:
    """The form of the tiny model in its tab, unfolded."""
    panel = open_tab(page, "Training")
    form = panel.locator(".tool").filter(has_text="A tiny model that learns")
    if not form.get_by_role("button", name="Watch it learn").is_visible():
        open_fold(panel.get_by_role("button", name="A tiny model that learns"))
    return form


class TestOnePage:
    def test_a_step_is_taken_on_ones_own_text_and_others_can_be_chosen(self, page: Page) -> None:
        page.set_viewport_size({"width": 1280, "height": 720})
        panel = open_tab(page, "Training")
        expect(panel.locator(".run-header").first).to_contain_text("Recorded example")
        fill(panel, "Your text", "The keeper lit the lamp, and the boats came home.")
        press(panel, "Take one step")
        task = panel.locator(".task").first
        expect_live_answer(task)
        answer = task.locator(".block.answer")
        expect(answer.locator("h3").first).to_contain_text("so the loss there is")
        expect(answer.locator(".learned")).to_have_count(2)
        before = answer.locator(".as-read").inner_html()
        press(panel, "Choose others")
        expect(answer.locator(".as-read")).not_to_have_text("")
        page.wait_for_function(
            "before => document.querySelector('#tab-training .as-read').innerHTML !== before", arg=before
        )
        parts = answer.get_by_role("list", name="Size of the gradient by part of the network")
        expect(parts.get_by_role("listitem")).to_have_count(8)
        panel.get_by_role("radio", name="Foresee the next token").check()
        expect(panel.get_by_role("button", name="Choose others")).to_have_count(0)
        press(panel, "Take one step")
        expect(task.locator(".run-header")).to_contain_text("Clearhead Stories")
        expect(answer.locator(".as-read")).to_contain_text("keeper")

    def test_a_tiny_model_learns_in_sight_and_says_what_it_learned(self, page: Page) -> None:
        page.set_viewport_size({"width": 390, "height": 844})
        form = opened(page)
        fill(form, "The text to learn", TEXT)
        form.get_by_label("number input for Steps").fill("150")
        press(form, "Watch it learn")
        expect(form.locator(".learning h3").first).to_contain_text(re.compile(r"Learning: step \d+"))
        expect(form.get_by_role("img", name="Loss by step")).to_be_in_viewport()
        expect_live_answer(form)
        expect(form.locator(".learning h3").first).to_contain_text("The loss went from")
        expect(form.locator(".learning .read-out")).to_contain_text("by heart, and nothing else")
        assert form.locator(".samples li").count() >= 8
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    def test_stop_ends_it_and_history_shows_how_far_it_came(self, page: Page) -> None:
        form = opened(page)
        form.get_by_label("number input for Steps").fill("800")
        press(form, "Watch it learn")
        expect(form.locator(".learning h3").first).to_contain_text("Learning: step")
        press(form, "Stop")
        expect(form.locator(".learning h3").first).to_contain_text("You stopped it here.")
        expect(form.get_by_role("button", name="Watch it learn")).to_be_visible()
        fill(form, "The text to learn", "Too short.")
        press(form, "Watch it learn")
        expect(form.get_by_role("alert")).to_contain_text("from 100 to 2,000 can be learned here")
        page.get_by_role("tab", name="History").click()
        page.get_by_role("button", name="Open: A tiny model that learns: The wind blew").first.click()
        expect(form.locator(".learning h3").first).to_contain_text("You stopped it here.")

    def test_pre_training_and_fine_tuning_are_one_picture_whose_boxes_open_tabs(self, page: Page) -> None:
        panel = open_tab(page, "Training")
        picture = panel.get_by_role("region", name="Pre-training and fine-tuning")
        expect(picture.get_by_role("link")).to_have_count(7)
        found = violations_by_day_and_night(page)
        assert not found, "\n".join(found)
        picture.get_by_role("link", name="Names").click()
        expect(page.get_by_role("tab", name="Names")).to_have_attribute("aria-selected", "true")
