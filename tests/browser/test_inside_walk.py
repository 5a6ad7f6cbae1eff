"""The tab Inside by keyboard alone, what it remembers, and what axe-core finds at each of its steps."""

import re

from playwright.sync_api import Locator, Page, expect

from demo.walk.steps import STEPS
from tests.browser.conftest import Open
from tests.browser.reading import find, open_tab, settle
from tests.browser.test_accessibility import violations

_MOST_TABS = 40
_OUTLINED = """(element) => {
    const shown = element.type === 'radio' ? element.closest('label') : element;
    const style = getComputedStyle(shown);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 || style.boxShadow !== 'none';
}"""


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until `wanted` has the focus, which is seen on it."""
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element === document.activeElement"):
            assert wanted.evaluate(_OUTLINED), "the focus is not seen"
            return
    raise AssertionError(f"{_MOST_TABS} tabs do not lead to {wanted}")


def expect_step(panel: Locator, number: int) -> None:
    step = STEPS[number - 1]
    expect(panel.get_by_role("heading", name=f"{number}. {step.title}")).to_be_visible()
    expect(panel.get_by_role("radio", name=f"{number} {step.title}")).to_be_checked()
    picture = panel.locator(".inside-step").filter(visible=True).locator(".inside-finding, .inside-picture").first
    expect(picture).not_to_be_empty()


def test_the_walk_needs_no_pointer_and_is_kept_while_another_tab_is_open(open_page: Open) -> None:
    page = open_page(viewport={"width": 1280, "height": 740}, reduced_motion="reduce")
    page.get_by_role("tab", name="Inside").focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("tabpanel").filter(visible=True)
    expect_step(panel, 1)

    tab_to(page, find(panel, "Your text"))
    page.keyboard.press("Control+a")
    page.keyboard.type("The robot knew that it was late.")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("list", name="WordPiece").locator("bdi")).to_have_count(10)

    tab_to(page, panel.get_by_role("radio", checked=True))
    for number in range(2, len(STEPS) + 1):
        page.keyboard.press("ArrowRight")
        expect_step(panel, number)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 1280, number
    tab_to(page, panel.get_by_role("button", name="Back", exact=True))
    for number in range(len(STEPS) - 1, 2, -1):
        page.keyboard.press("Enter")
        expect_step(panel, number)
    expect(panel.get_by_role("button", name="Back", exact=True)).to_be_focused()

    said = panel.locator(".inside-finding .read-out").filter(visible=True)
    expect(said).to_contain_text("In layer 4, head 2, “late” gives")
    tab_to(page, panel.get_by_role("spinbutton", name="Layer"))
    page.keyboard.press("ArrowDown")
    tab_to(page, panel.get_by_role("slider", name="Head"))
    page.keyboard.press("ArrowRight")
    tab_to(page, panel.get_by_label("Word").filter(visible=True))
    expect(page.get_by_role("option", name="3: robot")).to_be_visible()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    seen = re.compile(r"In layer 3, head 3, “it” gives")
    expect(said).to_contain_text(seen)

    page.get_by_role("tab", name="Sentiment").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel").filter(visible=True).locator(".run-header")).to_be_visible()
    page.get_by_role("tab", name="Inside").focus()
    page.keyboard.press("Enter")
    expect_step(panel, 3)
    expect(find(panel, "Your text")).to_have_value("The robot knew that it was late.")
    expect(panel.get_by_role("spinbutton", name="Layer")).to_have_value("3")
    expect(panel.get_by_role("spinbutton", name="Head")).to_have_value("3")
    expect(panel.get_by_label("Word").filter(visible=True)).to_have_value("6: it")
    expect(said).to_contain_text(seen)


def test_a_typed_blank_is_followed_and_a_chosen_word_stays_with_another_model(page: Page) -> None:
    # On a slow page the two events of one choice are far apart.
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    panel = open_tab(page, "Inside")
    panel.get_by_role("radio", name="Out again").check(force=True)
    said = panel.locator(".inside-finding .read-out").filter(visible=True)
    expect(said).to_contain_text("Which word stands at “it”?")
    find(panel, "Your text").fill("She turned the [MASK] and opened the door.")
    find(panel, "Your text").press("Enter")
    expect(said).to_contain_text("Which word stands at “[MASK]”?")
    word = panel.get_by_label("Word").filter(visible=True)
    expect(word).to_have_value("5: [MASK]")
    word.click()
    page.get_by_role("option", name="9: door").click()
    expect(said).to_contain_text("Which word stands at “door”?")
    panel.get_by_label("Model").click()
    page.get_by_role("option", name="Clearhead Stories").click()
    expect(said).to_contain_text("Which word comes after “door”?")
    page.wait_for_function("() => !document.querySelector('.generating')")
    expect(said).to_contain_text("Which word comes after “door”?")


class TestOnePage:
    def test_what_reaches_a_token_is_drawn_and_said_as_the_sliders_move(self, page: Page) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="Masked or not").check(force=True)
        said = panel.locator(".read-out").filter(has_text="With cached segments")
        expect(said).to_contain_text("6 layers × 4 tokens = 24 more come within reach.")
        for name, value in (("Window", "8"), ("Layers", "1"), ("Token", "10")):
            slider = panel.get_by_role("spinbutton", name=name)
            slider.fill(value)
            slider.press("Enter")
        expect(said).to_contain_text("token 10 can know of the 1 token before it in its window")
        expect(said).to_contain_text("1 layer × 8 tokens = 8 more come within reach.")
        expect(panel.get_by_role("region", name="Perplexity by the length of the window")).to_contain_text("256 tokens")

    def test_sliders_move_the_numbers_by_keyboard_and_a_new_text_turns_them_back(self, page: Page) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="Queries, keys").check(force=True)
        said = panel.locator(".inside-turned .read-out").filter(visible=True).first
        expect(said).to_contain_text("as the model has it")
        weights = panel.get_by_role("list", name="Weights as they are, and turned")
        untouched = weights.inner_text()
        panel.get_by_role("slider", name="Added to it").focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(said).to_contain_text(re.compile(r"With number 1 of the query at .+ instead of .+, “it” gives"))
        expect(panel.get_by_role("spinbutton", name="Added to it")).to_have_value("3")
        assert weights.inner_text() != untouched
        find(panel, "Your text").fill("The robot knew that it was late.")
        find(panel, "Your text").press("Enter")
        expect(said).to_contain_text("Number 1 of the query of “late”")
        expect(panel.get_by_role("spinbutton", name="Added to it")).to_have_value("0")

        panel.get_by_role("radio", name="Many heads").check(force=True)
        expect(said).to_contain_text("All parts are on, and the answer is “late”")
        panel.get_by_role("slider", name="Feed-forward ×").focus()
        page.keyboard.press("Home")
        expect(said).to_contain_text("With the feed-forward layer off in layer 4, the answer")
        panel.get_by_role("slider", name="Attention ×").focus()
        page.keyboard.press("Home")
        expect(said).to_contain_text("With the feed-forward layer off and head 2 off in layer 4")

        panel.get_by_role("radio", name="Out again").check(force=True)
        expect(said).to_contain_text("At T = 1.00, “late” has")
        panel.get_by_role("slider", name="Temperature T").focus()
        page.keyboard.press("End")
        expect(said).to_contain_text(re.compile(r"At T = 3\.00, “late” has .+ bits; at T = 1 it is"))
        assert not violations(page)

    def test_a_word_is_carried_from_sentence_to_sentence(self, page: Page) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="Out again").check(force=True)
        said = panel.locator(".inside-turned .read-out").filter(visible=True).last
        expect(said).to_contain_text("“france” put in as late as after layer 5 makes “paris”")
        panel.get_by_label("Carried from").fill("The capital of *Spain* is [MASK].")
        page.keyboard.press("Tab")
        expect(said).to_contain_text("makes “madrid”")
        panel.get_by_label("Carried into").fill("The capital of Italy is [MASK].")
        page.keyboard.press("Enter")
        expect(panel.get_by_role("alert").filter(visible=True)).to_contain_text("Please put asterisks around one word")
        expect(panel.get_by_label("Carried into")).to_have_value("The capital of Italy is [MASK].")
        panel.get_by_role("button", name="a capital").click()
        expect(said).to_contain_text("makes “paris”")
        expect(panel.get_by_role("alert").filter(visible=True)).to_have_count(0)

    def test_an_example_chooses_text_model_layer_head_and_word_and_stays_in_its_step(self, page: Page) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="Queries, keys").check(force=True)
        said = panel.locator(".inside-finding .read-out").filter(visible=True)
        # What is drawn for the step may come after an example that is chosen meanwhile, and with the word before.
        settle(page)
        for example, expected in (
            ("a story", r"In layer 4, head 2, “who” gives 8\d\s%.* to “robot”"),
            ("the Second Law of Robotics", r"In layer 4, head 2, “it” gives 79\s%.* to “robot”"),
            ("I am a robot", r"In layer 4, head 12, “i” gives 2\d\s%.* to “robot”"),
            ("what is “it”?", r"In layer 4, head 2, “it” gives 50\s%.* to “animal”"),
        ):
            panel.get_by_role("button", name=example, exact=True).click()
            expect(said).to_have_text(re.compile(expected))

    def test_own_numbers_are_worked_out_when_the_field_is_left_and_spoil_no_picture(self, page: Page) -> None:
        panel = open_tab(page, "Inside")
        panel.get_by_role("radio", name="Queries, keys").check(force=True)
        said = panel.locator(".inside-finding .read-out").filter(visible=True)
        expect(said).to_contain_text("In layer 4")
        scores = panel.get_by_role("textbox", name="Scores of one query").filter(visible=True)
        scores.fill("one")
        page.keyboard.press("Tab")
        wrong = panel.get_by_role("alert").filter(visible=True)
        expect(wrong).to_contain_text("Please write numbers")
        panel.get_by_role("spinbutton", name="Layer").fill("2")
        panel.get_by_role("spinbutton", name="Layer").press("Enter")
        expect(said).to_contain_text("In layer 2")
        scores.fill("1 1 1 1")
        page.keyboard.press("Tab")
        expect(panel.get_by_role("region", name="Softmax of your scores")).to_contain_text("0.25")
        expect(wrong).to_have_count(0)
        panel.get_by_role("button", name="Thinking, Machines").click()
        expect(panel.get_by_role("region", name="Softmax of your scores")).to_contain_text("0.88")


def test_no_step_has_a_serious_violation_and_none_scrolls_sideways(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 900}, color_scheme="dark", reduced_motion="reduce")
    panel = open_tab(page, "Inside")
    found = []
    for step in STEPS:
        panel.get_by_role("radio", name=f"{step.number} {step.title}").check(force=True)
        expect_step(panel, step.number)
        for width in (768, 360):
            page.set_viewport_size({"width": width, "height": 900})
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") == width, step.title
        panel.locator("details").evaluate_all("(all) => all.forEach((each) => { each.open = each.checkVisibility(); })")
        found += [f"{step.title}: {each}" for each in violations(page)]
    assert not found, "\n".join(found)
