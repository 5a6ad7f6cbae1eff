"""axe-core finds no serious or critical violation of WCAG AA in any tab, with its tools unfolded and used."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.reading import TABS, choose_tab, settle

GRAVE = ("serious", "critical")
WIDTHS = {"light": 360, "dark": 1440}
"""A phone's by day and a desk's at night, where only the colours are others."""
_WHERE = {"exclude": [[".reading .as-table tbody tr:nth-child(n+4)"]]}
"""The rows of a table of attention are all drawn alike: three of them are looked at."""

PUT_ASIDE = """() => {
    const closed = [...document.querySelectorAll('[role=tabpanel]')].filter((each) => !each.offsetParent);
    window.aside = closed.map((panel) => {
        const held = document.createDocumentFragment();
        held.append(...panel.childNodes);
        return [panel, held];
    });
}"""
"""What is in closed tabs has no violations, and axe-core walks through all of it, at each tab through more."""
UNTIL_STILL = """() => new Promise((still) => {
    let timer;
    const watched = new MutationObserver(again);
    function again() {
        clearTimeout(timer);
        timer = setTimeout(() => { watched.disconnect(); still(); }, 150);
    }
    watched.observe(document.body, {childList: true, subtree: true});
    again();
})"""
"""Waits until nothing has been drawn for a moment: a plot of a closed tab that is put aside while it is drawn fails."""
PUT_BACK = "() => window.aside.forEach(([panel, held]) => panel.append(held))"

_RULES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "dark": ["color-contrast"]}


def violations(page: Page, light: str = "light") -> list[str]:
    """What axe-core finds on the page once it stands still, and finds again: rule, element and why.

    An element that is redrawn fades for a moment, with less contrast than it has otherwise.
    """
    return found_now(page, light) and found_now(page, light)


def found_now(page: Page, light: str) -> list[str]:
    settle(page)
    page.evaluate(UNTIL_STILL)
    page.evaluate(PUT_ASIDE)
    options = {"runOnly": _RULES[light], "resultTypes": ["violations"]}
    response = Axe().run(page, _WHERE, options).response
    page.evaluate(PUT_BACK)
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['html'][:160]} {node['failureSummary']}"
        for each in response["violations"]
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]


def violations_at_its_width(page: Page, light: str) -> list[str]:
    """The same at the width of `WIDTHS`."""
    page.set_viewport_size({"width": WIDTHS[light], "height": 900})
    return violations(page, light)


def violations_by_day_and_night(page: Page) -> list[str]:
    """The same in both lights, at the width of each; the page is left as it was."""
    switch = page.get_by_role("button", name="Switch between light and dark")
    found = violations_at_its_width(page, "light")
    switch.click()
    expect(page.locator("body.dark")).to_be_attached()
    found += violations_at_its_width(page, "dark")
    switch.click()
    return found


def use_tools(panel: Locator) -> None:
    """Press the buttons of the tools, and wait for what they show."""
    panel.get_by_role("button", name="Work it out").click()
    expect(panel.locator(".read-out").first).to_contain_text(re.compile(r"layer \d+, head \d+"))
    panel.get_by_role("button", name="Compare", exact=True).click()
    expect(panel.locator(".tool-result .legend")).to_be_visible()
    expect(panel.locator(".compared")).to_be_visible()


@pytest.mark.timeout(900)
def test_no_tab_has_a_serious_violation(page: Page) -> None:
    found = []
    for name in TABS:
        panel = choose_tab(page, name)
        expect(panel.locator(".word.source")).to_be_visible()
        for tool in panel.locator(".tool > button").all():
            tool.click()
        for table in panel.locator(".as-table summary").all():
            table.click()
        expect(panel.locator(".sheet img")).to_be_visible()
        if name == "Sentiment":
            use_tools(panel)
        found += [f"{name}: {each}" for each in violations_by_day_and_night(page)]
    for name in ("History", "About"):
        page.get_by_role("tab", name=name).click()
        found += [f"{name}: {each}" for each in violations_by_day_and_night(page)]
    assert not found, "\n".join(found)
