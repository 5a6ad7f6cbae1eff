"""The page in other languages: chosen by the browser, switched and kept, whole on a phone, and from right to left."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from demo.language import LANGUAGES
from demo.lectures import lectures_of
from demo.settings import Limits
from demo.walk.steps import STEPS
from tests.api.server import Server, serving
from tests.browser.conftest import Open, opening
from tests.browser.reading import settle
from tests.pseudo import CODE, is_english, pseudo, write_catalogue

OTHERS = [code for code in LANGUAGES if code != "en"]
PHONE = {"width": 390, "height": 844}


def tabs_of(page: Page) -> list[str]:
    """The names of the tabs in addresses, in their order."""
    ids = page.locator(".task-tabs [role=tab]").evaluate_all("tabs => tabs.map(tab => tab.id)")
    return [each.removeprefix("tab-").removesuffix("-button") for each in dict.fromkeys(ids) if each]


def turn_to(page: Page, name: str) -> None:
    page.evaluate("name => document.getElementById(`tab-${name}-button`).click()", name)
    expect(page.locator(f"#tab-{name}")).to_be_visible()


def expect_answered(panel: Locator) -> None:
    """What is shown is no longer the recorded example, which needed no time."""
    expect(panel.locator(".run-header strong")).to_have_count(0)


def test_a_browsers_language_is_spoken_and_another_one_chosen_and_kept(open_page: Open) -> None:
    page = open_page(locale="fr-FR")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    panel = page.locator("#tab-fill-mask")
    expect(panel.locator(".block.answer")).to_contain_text("50\u202f%")
    panel.locator(".visitor-text textarea").fill("The sea is [MASK].")
    panel.locator(".run-button.primary").click()
    expect_answered(panel)
    expect(panel.locator(".visitor-text textarea")).to_have_value("The sea is [MASK].")
    page.locator("select.languages").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    # The text stays, and so does the choice.
    expect(panel.locator(".visitor-text textarea")).to_have_value("The sea is [MASK].")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("select.languages")).to_have_value("de")
    panel.locator(".run-button.primary").click()
    expect_answered(panel)
    # A German decimal comma, and an error in German that loses nothing.
    expect(panel.locator(".block.answer .bars").first).to_contain_text(",")
    panel.locator(".visitor-text textarea").fill("No blank here.")
    panel.locator(".run-button.primary").click()
    expect(panel.locator(".block.notice:visible")).to_contain_text("Lücke")
    expect(panel.locator(".visitor-text textarea")).to_have_value("No blank here.")


_CUT_OFF = """() => {
  const said = 'button, label, summary, legend, th, h1, h2, h3, h4, [role=tab], .hint, .lead, .notice, .quiet';
  const cut = [...document.querySelectorAll(said)].filter((each) => {
    if (!each.checkVisibility({visibilityProperty: true}) || each.closest('.sr-only, .js-plotly-plot')) return false;
    const style = getComputedStyle(each);
    const hides = style.overflowX !== 'visible' && style.overflowX !== 'auto' && style.overflowX !== 'scroll';
    return hides && each.scrollWidth > each.clientWidth + 1;
  });
  const wide = [...document.querySelectorAll('button, h1, h2, h3, label, summary')].filter((each) => {
    if (!each.checkVisibility({visibilityProperty: true})) return false;
    const place = each.getBoundingClientRect();
    if (place.width <= 1) return false;
    for (let frame = each.parentElement; frame; frame = frame.parentElement) {
      const overflow = getComputedStyle(frame).overflowX;
      // What scrolls can be brought into view.
      if (overflow === 'auto' || overflow === 'scroll') return false;
      const edge = frame.getBoundingClientRect();
      const beyond = place.right > edge.right + 1 || place.left < edge.left - 1;
      if (overflow !== 'visible' && edge.width > 1 && beyond) return true;
    }
    return place.right > innerWidth + 1 || place.left < -1;
  });
  return [...new Set([...cut, ...wide])].map((each) => `${each.className}: ${each.textContent.trim().slice(0, 60)}`);
}"""


@pytest.mark.parametrize("code", OTHERS)
def test_nothing_is_cut_off_on_a_phone(open_page: Open, code: str) -> None:
    page = open_page(locale=code, viewport=PHONE, reduced_motion="reduce")
    expect(page.locator("html")).to_have_attribute("lang", code)
    found = {}
    for name in tabs_of(page):
        turn_to(page, name)
        page.locator(f"#tab-{name} details:visible > summary").evaluate_all("all => all.forEach(each => each.click())")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if cut := page.evaluate(_CUT_OFF):
            found[name] = cut
    assert not found


@pytest.mark.parametrize("code", OTHERS)
def test_all_tabs_stand_in_one_row_on_a_small_screen(open_page: Open, code: str) -> None:
    page = open_page(locale=code, viewport={"width": 1280, "height": 720})
    expect(page.locator("html")).to_have_attribute("lang", code)
    tops = page.locator(".task-tabs [role=tab]:visible").evaluate_all(
        "tabs => tabs.map(tab => Math.round(tab.getBoundingClientRect().bottom))"
    )
    assert len(tops) == len(tabs_of(page))
    assert max(tops) - min(tops) < 10


# From right to left


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("turned")
    write_catalogue(folder)
    with serving(folder, CLEARHEAD_LANGUAGES=str(folder)) as running:
        yield running


_SAID = """(panel) => {
  const foreign = 'bdi, code, pre, math, style, script, textarea, .js-plotly-plot, .lecture-link a, .progress-text';
  const texts = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  const found = new Set();
  while (texts.nextNode()) {
    const holder = texts.currentNode.parentElement;
    // What is folded away is said as well, and the name of a field that is never shown is not.
    const seen = holder.checkVisibility() || !holder.closest('label');
    if (seen && !holder.closest(foreign)) found.add(texts.currentNode.data);
  }
  return [...found];
}"""


def english_in(part: Locator) -> list[str]:
    """What a part of a page says without a translation."""
    return [text for text in part.evaluate(_SAID) if is_english(text)]


@pytest.mark.timeout(600)
def test_right_to_left_the_page_is_turned_and_every_answer_translated(turned: Server, browser: Browser) -> None:
    with opening(turned, browser) as open_page:
        page = open_page(locale=CODE, viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("dir", "rtl")
        expect(page.locator("#tab-sentiment-button")).to_have_text(pseudo("Sentiment"))
        heading, form, answer = (
            page.locator(each).bounding_box()
            for each in (".masthead h1", "#tab-fill-mask .left", "#tab-fill-mask .result")
        )
        assert heading
        assert form
        assert answer
        assert heading["x"] > 640
        assert form["x"] > answer["x"]
        found = {}
        for name in tabs_of(page):
            turn_to(page, name)
            panel = page.locator(f"#tab-{name}")
            for button in panel.locator(".run-button.primary:visible").all():
                button.click()
                expect(button).to_be_visible()
            for header in panel.locator(".run-header:visible").all():
                expect(header).not_to_contain_text(pseudo("Recorded example"))
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            found[name] = english_in(panel)
        panel = page.locator("#tab-inside")
        turn_to(page, "inside")
        for place, step in enumerate(STEPS):
            panel.locator(".stepper input[type=radio]").nth(place).check(force=True)
            expect(panel.locator(".step-heading h2")).to_contain_text(pseudo(step.title))
            settle(page)
            found[f"inside {step.key}"] = english_in(panel)
        page.goto(f"{turned.url}?lecture=bert")
        bar = page.locator(".lecture-step")
        for step in lectures_of(None, tuple(each.key for each in STEPS), Limits())["bert"].steps:
            expect(bar.locator("h2")).to_have_text(pseudo(step.title))
            settle(page)
            found[f"lecture {step.title}"] = english_in(bar)
            page.keyboard.press("ArrowRight")
        page.goto(f"{turned.url}?tour=first-steps")
        expect(page.locator(".tour-card h2")).to_have_text(pseudo("Your sentence"))
        found["tour"] = english_in(page.locator(".tour-card"))
        assert not any(found.values()), "\n".join(
            f"{where}: {text}" for where, texts in found.items() for text in texts
        )
