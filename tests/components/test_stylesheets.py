"""The stylesheets as Gradio reads them: it puts the page's own class in front of every rule, and rewrites some."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.theme import ASSETS

SHEETS = sorted(ASSETS.glob("*.css"))
_SHORTHANDS = re.compile(r"\bborder:[^;]*var\([^;]*;(?:[^;]*;)*?\s*border-(?:top|right|bottom|left)\b")


def within_media(css: str) -> Iterator[str]:
    """The bodies of the blocks that hold only on some screens."""
    for start in re.finditer(r"@media[^{]*\{", css):
        depth, end = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(css[end], 0)
            end += 1
        yield css[start.end() : end - 1]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_rules_for_some_screens_match_something(sheet: Path) -> None:
    """Gradio keeps these only behind `.gradio-container … .contain`, and no page stands within that."""
    for block in within_media(sheet.read_text(encoding="utf-8")):
        assert ".gradio-container" not in block


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_border_is_lost(sheet: Path) -> None:
    """A border of a variable's colour vanishes as Gradio copies the rule, if one of its sides is set behind it."""
    for rule in re.findall(r"\{([^{}]*)\}", sheet.read_text(encoding="utf-8")):
        assert not _SHORTHANDS.search(rule), rule
