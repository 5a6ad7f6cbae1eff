"""A lecture as the lecturer and the audience with phones see it."""

import io
import re

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page, expect

from demo.lectures import TaskView, lectures_of
from demo.settings import Limits
from demo.walk.steps import STEPS
from demo.walk.view import InsideRequest
from demo.widgets.lecture_bar import network_addresses
from tests.api.server import Server
from tests.browser.conftest import Open
from tests.browser.reading import find, settle
from tests.browser.test_accessibility import violations_at_its_width

LECTURES = lectures_of(None, tuple(step.key for step in STEPS), Limits())
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def open_step(open_page: Open, server: Server, name: str, number: int, **options: object) -> Page:
    """A page that is opened at a step of a lecture."""
    page = open_page(f"{server.url}?lecture={name}&step={number}", **options)
    expect_step(page, name, number)
    return page


def expect_step(page: Page, name: str, number: int) -> None:
    """The bar is at this step, and the page below it has the step's texts and its picture or answer, shown or not."""
    lecture = LECTURES[name]
    step = lecture.steps[number - 1]
    bar = page.get_by_role("region", name="Lecture")
    expect(bar).to_contain_text(f"{lecture.title} step {number} of {len(lecture.steps)}")
    expect(bar.get_by_role("heading")).to_have_text(step.title)
    panel = page.get_by_role("tabpanel").filter(visible=True)
    if isinstance(step.view, InsideRequest):
        expect(find(panel, "Your text")).to_have_value(step.view.text)
        shown = next(each for each in STEPS if each.key == step.view.step)
        title = shown.title
        expect(panel.locator(".step-heading h2")).to_contain_text(title)
        chosen = panel.locator(".stepper").get_by_role("radio", checked=True, include_hidden=True)
        expect(chosen).to_have_value(shown.key)
        if "layer" in shown.uses:
            layer = panel.get_by_role("spinbutton", name="Layer", include_hidden=True)
            expect(layer.first).to_have_value(str(step.view.layer + 1))
        if "position" in shown.uses and step.view.position >= 0:
            expect(panel.get_by_label("Word", exact=True).first).to_have_value(
                re.compile(f"^{step.view.position + 1}: ")
            )
    else:
        expect(panel.locator(".run-header")).not_to_contain_text("Recorded example")
        typed = [field.input_value() for field in panel.locator("textarea").all()]
        for name, value in step.view.fields.items():
            assert name not in ("text", "prompt", "question", "context") or value in typed
    settle(page)


def show_whole_page(page: Page) -> None:
    """Leave the hall: bring back what is around sentence and picture."""
    page.keyboard.press("m")
    expect(page.get_by_role("button", name="Whole page")).to_have_attribute("aria-pressed", "true")


def answer(page: Page) -> str:
    """The model's answer, without the time that it took."""
    settle(page)
    return page.get_by_role("tabpanel").filter(visible=True).locator(".block.answer").inner_text()


def test_a_lecture_is_given_by_keyboard_alone_and_each_step_is_announced(page: Page, server: Server) -> None:
    page.get_by_role("tab", name="Inside").click()
    page.get_by_role("button", name="Lectures: for a room").press("Enter")
    page.get_by_role("link", name="Attention in 10 minutes").press("Enter")
    expect_step(page, "attention", 1)
    following = page.get_by_role("link", name="Next")
    following.press("Enter")
    expect_step(page, "attention", 2)
    expect(following).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="step 2 of")).to_contain_text(
        LECTURES["attention"].steps[1].title
    )
    page.get_by_role("link", name="Back").press("Enter")
    expect_step(page, "attention", 1)
    expect(following).to_be_focused()
    for key, number in (("ArrowRight", 2), ("PageDown", 3), ("PageUp", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        expect_step(page, "attention", number)
        assert page.url == f"{server.url}?lecture=attention&step={number}"
    page.go_back()
    expect_step(page, "attention", 2)
    page.get_by_role("link", name="Leave lecture").press("Enter")
    expect(page.get_by_role("region", name="Lecture")).to_have_count(0)
    assert page.url == server.url


MEASURED = """() => {
    const panel = [...document.querySelectorAll('[role=tabpanel]')].find((each) => each.offsetParent);
    const seen = (each) => each.getBoundingClientRect().height > 0;
    const box = (each) => { const at = each.getBoundingClientRect(); return [at.left, at.top, at.right, at.bottom]; };
    const figures = '.heatmap-frame .js-plotly-plot, .room-1 .js-plotly-plot, .room-1 .prose *, .room-2 .prose *';
    const pictures = [...panel.querySelectorAll(`.answer .prose, .sentence, ${figures}`)].filter(seen);
    const type = [document.querySelector('.lecture-text'), ...pictures].flatMap((part) => {
        const found = [], texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const holder = texts.currentNode.parentElement;
            if (!texts.currentNode.data.trim() || !seen(holder) || holder.closest('.sr-only, .modebar')) continue;
            found.push(parseFloat(getComputedStyle(holder).fontSize) * (holder.currentCSSZoom ?? 1));
        }
        return found;
    });
    const rest = '[role=tab], textarea, .masthead, .run-button, .notice, .stepper, .step-head button, .reader-controls';
    return {
        sentence: box(document.querySelector('.lecture-text')), pictures: pictures.map(box),
        smallest: Math.min(...type),
        around: [...document.querySelectorAll(rest)].filter(seen).length, scrolled: scrollY,
    };
}"""
"""In the page: where sentence and pictures are, the smallest type in them, and how much of the rest is seen."""


@pytest.mark.parametrize("name", LECTURES)
def test_a_room_sees_sentence_and_picture_of_every_step_to_the_last_and_nothing_else(
    open_page: Open, server: Server, name: str
) -> None:
    width, height = 1280, 720
    page = open_step(open_page, server, name, 1, viewport={"width": width, "height": height})
    wrong = []
    for number, step in enumerate(LECTURES[name].steps, start=1):
        expect_step(page, name, number)
        if step.question:
            # The picture comes with the answer.
            expect(page.get_by_role("button", name="Show the answer")).to_be_visible()
            page.keyboard.press("a")
        if isinstance(step.view, InsideRequest):
            drawn = page.locator(f".room-{step.picture} :is(.prose *, .main-svg)").filter(visible=True)
        else:
            drawn = page.locator(".sentence .word[aria-pressed=true]").filter(visible=True)
        drawn.first.wait_for()
        page.wait_for_timeout(400)  # figures are drawn, and fitted, shortly after they have come
        seen = page.evaluate(MEASURED)
        outside = [
            box
            for box in (seen["sentence"], *seen["pictures"])
            if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height
        ]
        if outside or not seen["pictures"] or seen["smallest"] < 21.9 or seen["around"] or seen["scrolled"]:
            wrong.append(f"step {number}: {outside or seen}")
        page.keyboard.press("PageDown")
    expect_step(page, name, len(LECTURES[name].steps))
    assert not wrong, "\n".join(wrong)


def test_a_key_brings_the_page_back_a_pointer_tells_of_it_and_the_host_learns_how_phones_reach_it(
    open_page: Open, server: Server
) -> None:
    page = open_step(open_page, server, "attention", 2)
    whole, tab = page.get_by_role("button", name="Whole page"), page.get_by_role("tab", name="Sentiment")
    expect(tab).to_be_hidden()
    expect(whole).to_have_css("opacity", "0")
    page.mouse.move(300, 300)
    page.mouse.move(320, 320)
    expect(whole).to_have_css("opacity", "1")
    show_whole_page(page)
    expect(tab).to_be_visible()
    page.keyboard.press("PageDown")
    expect_step(page, "attention", 3)
    expect(tab).to_be_visible()
    whole.click()
    expect(tab).to_be_hidden()

    page.get_by_text("On your phone").click()
    card = page.locator(".lecture-card")
    expect(card).to_contain_text("CLEARHEAD_HOST=0.0.0.0")
    port = server.url.rstrip("/").rpartition(":")[2]
    offered = [each.get_attribute("href") for each in card.locator(".lecture-reach a").all()]
    assert offered == [f"http://{each}:{port}/?lecture=attention&step=3" for each in network_addresses()]


def test_the_code_on_the_screen_opens_the_same_view_on_a_phone(open_page: Open, server: Server) -> None:
    number, step = next(
        (number, each)
        for number, each in enumerate(LECTURES["gpt-2"].steps, start=1)
        if isinstance(each.view, TaskView) and each.view.fields.get("strategy") == "sample"
    )
    front = open_step(open_page, server, "gpt-2", number, viewport={"width": 1440, "height": 900})
    front.get_by_text("On your phone").click()
    picture = Image.open(io.BytesIO(front.get_by_role("img", name="QR code of").screenshot()))
    link = zxingcpp.read_barcodes(picture)[0].text
    assert link == f"{server.url}?lecture=gpt-2&step={number}"
    assert isinstance(step.view, TaskView)

    show_whole_page(front)
    phone = open_page(link, **PHONE)
    expect_step(phone, "gpt-2", number)
    expect(phone.get_by_role("tabpanel").filter(visible=True).locator(".block.answer")).to_be_in_viewport(ratio=0.5)
    assert answer(phone).startswith(str(step.view.fields["prompt"]))
    assert answer(phone) == answer(front)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(phone.get_by_role("img", name="QR code of")).to_be_hidden()


def test_a_room_answers_on_its_phones_and_the_screen_in_front_shows_how_many_chose_what(
    open_page: Open, server: Server
) -> None:
    front = open_step(open_page, server, "bert", 1, viewport={"width": 1280, "height": 720})
    asked, picture = front.get_by_role("region", name="Question to the room"), front.locator(".answer").first
    expect(asked).to_contain_text("She drank a cup of [MASK] before she went to work.")
    expect(asked).to_contain_text("0 answers so far")
    expect(picture).to_have_css("visibility", "hidden")
    link = front.locator(".lecture-card a").last.get_attribute("href")
    assert link == front.url

    def phone_chooses(word: str, **options: object) -> Page:
        phone = open_page(link, **PHONE, **options)
        expect_step(phone, "bert", 1)
        question = phone.get_by_role("region", name="Question to the room")
        expect(question.get_by_role("radio", name=word)).to_be_in_viewport()
        expect(phone.locator(".answer").first).to_have_css("visibility", "hidden")
        question.get_by_role("radio", name=word).check()
        expect(question).to_contain_text("The model gives “coffee”")
        expect(phone.locator(".answer").first).to_have_css("visibility", "visible")
        expect(phone.get_by_role("button", name="Show the answer")).to_be_hidden()
        return phone

    expect(phone_chooses("coffee").locator(".tour-verdict")).to_contain_text("Right.")
    wrong = phone_chooses("tea", color_scheme="dark")
    expect(wrong.locator(".tour-verdict")).to_contain_text("Not this time: it is “coffee”.")
    assert not violations_at_its_width(wrong, "dark")
    expect(asked).to_contain_text("2 answers so far")
    expect(asked).not_to_contain_text("The model gives")
    front.keyboard.press("a")
    expect(asked.get_by_role("listitem")).to_have_text(["coffee1", "tea1", "water0", "wine0"])
    expect(picture).to_have_css("visibility", "visible")
    assert not violations_at_its_width(front, "light")
    front.keyboard.press("PageDown")
    expect_step(front, "bert", 2)
    expect(asked).to_be_hidden()


def test_an_inside_step_is_read_on_a_phone(open_page: Open, server: Server) -> None:
    page = open_step(open_page, server, "attention", 2, **PHONE)
    expect(page.locator(".inside-finding").filter(visible=True).first).to_contain_text("“it”")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_lecture_mode_has_no_serious_violation(open_page: Open, server: Server) -> None:
    options = {"viewport": {"width": 360, "height": 900}, "color_scheme": "dark"}
    page = open_step(open_page, server, "attention", 1, **options)
    page.get_by_text("On your phone").click()
    found = violations_at_its_width(page, "dark")
    page.set_viewport_size({"width": 360, "height": 900})
    page.get_by_role("tab", name="About").click()
    found += violations_at_its_width(page, "dark")
    assert not found, "\n".join(found)
