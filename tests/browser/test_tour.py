"""The tour as a visitor alone takes it on a phone."""

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.settings import Limits
from demo.tour.files import tours_of
from tests.browser.conftest import Open
from tests.browser.reading import fill, settle
from tests.browser.test_accessibility import violations

TOUR = tours_of(None, Limits())["first-steps"]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "reduced_motion": "reduce"}
SENTENCE = "The soup was not bad, and the children loved it."


def card(page: Page) -> Locator:
    return page.get_by_role("region", name="Tour")


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel").filter(visible=True)


def expect_card(page: Page, number: int) -> None:
    """The page is at this card, the focus on its heading."""
    expect(card(page)).to_contain_text(f"Card {number} of {len(TOUR.cards) + 1}")
    expect(card(page).get_by_role("heading")).to_be_focused()


def choose(page: Page, choice: str) -> None:
    card(page).get_by_role("radio", name=choice, exact=True).check()


def run(page: Page, button: str) -> None:
    """Press the button of the tab, which the card leaves free."""
    pressed = panel(page).get_by_role("button", name=button, exact=True)
    pressed.scroll_into_view_if_needed()
    settle(page)
    of_button, of_card = pressed.bounding_box(), card(page).bounding_box()
    assert of_button and of_card and of_button["y"] + of_button["height"] <= of_card["y"]
    pressed.click()


def expect_right(page: Page, because: str) -> None:
    expect(card(page).locator(".tour-verdict")).to_contain_text("Right.")
    expect(card(page).locator(".tour-verdict")).to_contain_text(because)


def go_on(page: Page, number: int) -> None:
    card(page).get_by_role("button", name="Next").click()
    expect_card(page, number)
    # What the card reads, such as the weights, may still be on its way.
    settle(page)


@pytest.mark.timeout(900)
def test_a_visitor_takes_the_whole_tour_on_a_phone_and_is_right(open_page: Open) -> None:
    page = open_page(**PHONE)
    page.get_by_role("button", name="Take the tour").click()
    expect_card(page, 1)
    fill(panel(page), "Your text", SENTENCE)
    choose(page, "positive")
    run(page, "Read it")
    expect_right(page, "“positive” 99.4")
    expect(page.get_by_role("status").filter(has_text="Right. The model gives")).to_have_count(1)
    go_on(page, 2)
    choose(page, "bad")
    panel(page).get_by_role("button", name="children", exact=True).tap()
    expect_right(page, "“children” gives 31")
    go_on(page, 3)
    choose(page, "soup")
    for control, value in (("Layer", "4"), ("Head", "2")):
        panel(page).get_by_label(f"number input for {control}").fill(value)
    panel(page).get_by_role("button", name="it", exact=True).tap()
    expect_right(page, "“it” gives 80")
    expect(panel(page).locator(".read-out")).to_contain_text("“it” gives 80")

    page.reload()
    expect(page.get_by_role("button", name="No, thanks")).to_be_hidden()
    expect_card(page, 3)
    expect(card(page)).to_contain_text("3 of 3 right")
    expect(panel(page).get_by_label("Your text")).to_have_value(SENTENCE)
    go_on(page, 4)
    expect(panel(page).get_by_label("Your text")).to_have_value("The soup was bad, and the children loved it.")
    choose(page, "negative")
    run(page, "Read it")
    expect_right(page, "“negative” 55")
    go_on(page, 5)
    panel(page).get_by_role("button", name="not", exact=True).tap()
    choose(page, "very")
    run(page, "Fill the blank")
    expect_right(page, "“very” 75")
    go_on(page, 6)
    fill(panel(page), "Your question", "Who loved the soup?")
    choose(page, "children")
    run(page, "Look it up")
    expect_right(page, "“children”")
    go_on(page, 7)
    expect(card(page)).to_contain_text("Press “Translate”.")
    run(page, "Translate")
    choose(page, "not")
    panel(page).get_by_role("button", name="pas", exact=True).tap()
    expect_right(page, "“pas” gives 91")
    go_on(page, 8)
    choose(page, "it")
    run(page, "Write on")
    expect_right(page, "“it” 78")
    go_on(page, 9)
    choose(page, "soup")
    run(page, "Measure it")
    expect_right(page, "“soup” 9.7 (“s” 9.2 + “oup” 0.6)")
    go_on(page, 10)
    expect(card(page)).to_contain_text("You answered 9 questions, 9 of them right.")
    page.get_by_role("tab", name="History").click()
    runs = page.get_by_role("list", name="Runs, newest first").get_by_role("listitem")
    expect(runs).to_have_count(7)


def test_a_card_is_for_keyboards_and_screen_readers_and_a_wrong_answer_is_explained(open_page: Open) -> None:
    page = open_page(**PHONE | {"color_scheme": "dark"})
    page.get_by_role("button", name="No, thanks").press("Enter")
    page.get_by_role("link", name="Take the tour").press("Enter")
    expect_card(page, 1)
    card(page).get_by_role("radio", name="negative").press("Space")
    panel(page).get_by_label("Your text").press("Enter")
    verdict = card(page).locator(".tour-verdict")
    expect(verdict).to_have_text(
        "Not this time: it is “positive”. "
        "The model gives “positive” 99.5\u202f% of its probability, “negative” 0.5\u202f%."
    )
    assert not violations(page, "dark") + violations(page, "light")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    card(page).get_by_role("button", name="Leave the tour").press("Enter")
    expect(card(page)).to_have_count(0)
    expect(page.get_by_role("link", name="Go on with the tour")).to_be_focused()


def test_a_text_that_has_no_question_is_said_to_have_none_and_the_example_takes_its_place(open_page: Open) -> None:
    page = open_page(**PHONE)
    page.get_by_role("button", name="Take the tour").click()
    expect_card(page, 1)
    fill(panel(page), "Your text", "Superb.")
    choose(page, "positive")
    run(page, "Read it")
    expect_right(page, "“positive”")
    go_on(page, 2)
    expect(card(page)).to_contain_text("This text has too few words for the question.")
    go_on(page, 3)
    go_on(page, 4)
    expect(card(page)).to_contain_text("Your sentence has no “not” to take out.")
    card(page).get_by_role("button", name="Take the example").click()
    expect(panel(page).get_by_label("Your text")).to_have_value(TOUR.cards[3].example["text"])
    choose(page, "positive")
    run(page, "Read it")
    expect(card(page).locator(".tour-verdict")).to_contain_text("Not this time: it is “negative”.")
