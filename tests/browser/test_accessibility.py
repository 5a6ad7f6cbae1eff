"""No tab, with its tools unfolded and used, has a serious or critical violation of WCAG AA that axe-core finds."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.reading import TABS, choose_tab, settle

GRAVE = ("serious", "critical")
WIDTHS = {"light": 360, "dark": 1440}
"""A phone's by day and a desk's at night, where only the colours are others."""
_WHERE = {"exclude": [[".reading .as-table tbody tr:nth-child(n+4)"]]}
"""The rows of a table of attention are all drawn alike: three of them are looked at."""

_RULES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "dark": ["color-contrast"]}


def violations(page: Page, light: str = "light") -> list[str]:
    """What axe-core finds on the page once it stands still, and finds again: rule, element and why.

    An element that is redrawn fades for a moment, with less contrast than it has otherwise.
    """
    return found_now(page, light) and found_now(page, light)


def found_now(page: Page, light: str) -> list[str]:
    settle(page)
    options = {"runOnly": _RULES[light], "resultTypes": ["violations"]}
    response = Axe().run(page, _WHERE, options).response
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


def use_tools(panel: Locator) -> None:
    """Press the buttons of the tools, and wait for what they show."""
    panel.get_by_role("button", name="Work it out").click()
    expect(panel.locator(".read-out").first).to_contain_text(re.compile(r"layer \d+, head \d+"))
    panel.get_by_role("button", name="Compare", exact=True).click()
    expect(panel.locator(".tool-result .legend")).to_be_visible()
    expect(panel.locator(".compared")).to_be_visible()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("light", ["light", "dark"])
def test_no_tab_has_a_serious_violation(open_page: Open, light: str) -> None:
    page = open_page(viewport={"width": 1440, "height": 900}, color_scheme=light)
    found = []
    for name in TABS:
        page.set_viewport_size({"width": 1440, "height": 900})
        panel = choose_tab(page, name)
        expect(panel.locator(".word.source")).to_be_visible()
        for tool in panel.locator(".tool > button").all():
            tool.click()
        for table in panel.locator(".as-table summary").all():
            table.click()
        expect(panel.locator(".sheet img")).to_be_visible()
        if name == "Sentiment":
            use_tools(panel)
        found += [f"{name}: {each}" for each in violations_at_its_width(page, light)]
    for name in ("History", "About"):
        page.set_viewport_size({"width": 1440, "height": 900})
        page.get_by_role("tab", name=name).click()
        found += [f"{name}: {each}" for each in violations_at_its_width(page, light)]
    assert not found, "\n".join(found)
