"""The walk's formulas as MathML; `python -m demo.walk.formulas` converts them again from their LaTeX."""

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from demo.language import _
from demo.theme import ASSETS

FILE = ASSETS / "formulas.json"


@dataclass(frozen=True)
class Formula:
    """A formula in LaTeX and MathML: `says` reads it aloud, `letters` explains its symbols, `source` is at `url`."""

    latex: str
    says: str
    letters: str
    source: str
    url: str
    mathml: str


@cache
def formulas() -> dict[str, tuple[Formula, ...]]:
    """The formulas by the key of their step, the most important first; `positions` has positional encodings."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {step: tuple(Formula(**each) for each in of_step) for step, of_step in found.items()}


def folded_formulas(step: str) -> str:
    """A step's formulas as HTML, folded under a line that shows the first."""
    first, *others = formulas()[step]
    explained = f"<ul class='formula-list'><li>{_explained(first)}</li>{_items(others)}</ul>"
    said = _("In a formula: {formula}", formula=math(first))
    return f"<details class='formulas'><summary>{said}</summary>{explained}</details>"


def listed_formulas(step: str) -> str:
    """A step's formulas as an HTML list, each with what its letters stand for and its source."""
    return f"<ul class='formula-list'>{_items(formulas()[step])}</ul>"


def _items(listed: Iterable[Formula]) -> str:
    return "".join(f"<li>{math(each)}{_explained(each)}</li>" for each in listed)


def _explained(formula: Formula) -> str:
    """HTML that says what the letters stand for, with a link to the source."""
    return (
        f"<p class='quiet'>{html.escape(_(formula.letters))} <a href='{html.escape(formula.url)}' target='_blank' "
        f"rel='noopener noreferrer'>{html.escape(_(formula.source))}</a></p>"
    )


def math(formula: Formula) -> str:
    """The formula's MathML, with its spoken form as `alttext` for screen readers that know no MathML."""
    spoken = html.escape(_(formula.says), quote=True)
    return formula.mathml.replace("<math ", f'<math alttext="{spoken}" ', 1)


def mathml_of(latex: str) -> str:
    """The MathML of a formula in LaTeX."""
    from latex2mathml.converter import convert

    converted: str = convert(latex)
    return converted


def main() -> None:
    """Convert every formula's LaTeX again and rewrite the file."""
    found: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    for each in (formula for of_step in found.values() for formula in of_step):
        each["mathml"] = mathml_of(each["latex"])
    FILE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
