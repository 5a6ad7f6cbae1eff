"""Update the catalogues of translations to the page's sentences: `python -m demo.language.catalogues`.

New sentences are added without a translation, and those no longer used are removed. With a code such as `nl` it begins
a catalogue for a language that has none.
"""

import ast
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from demo.language import SHIPPED
from demo.language.scripts import said_in_scripts
from demo.theme import ASSETS

_ROOT = ASSETS.parent
_SAYING = {"_": 1, "N_": 1, "Sentence": 1, "ngettext": 2}
"""The functions that mark sentences for translation, and how many sentences each takes."""

_TEXTS = {
    "lectures/*.json": {"title", "about", "text"},
    "tours/*.json": {"title", "text", "do", "question"},
    "examples/*.json": {"label"},
    "glossary.json": {"sentence"},
    "formulas.json": {"says", "letters", "source"},
    "words/which_layer.json": {"way", "classifier"},
    "characters/figures.json": {"signals", "watches"},
    "written_by.json": {"called"},
}
"""The JSON keys that hold texts for visitors, by file: a text, a list of texts, or an object whose keys are texts."""

_NOT_SAID = {"inside", "tab", "fields", "example", "recorded"}
"""The JSON keys that hold inputs and answers, which are not translated."""


def _said_in_python(source: str) -> Iterator[str | tuple[str, ...]]:
    """The sentences in Python source, found in its syntax tree, as Babel does not look into f-strings."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _SAYING:
            literals = [each.value for each in call.args[: _SAYING[call.func.id]] if isinstance(each, ast.Constant)]
            given = [each for each in literals if isinstance(each, str) and each]
            if given:
                yield given[0] if len(given) == 1 else tuple(given)


def _texts(document: Any, names: set[str]) -> Iterator[str]:
    """The texts under the keys `names` in a parsed JSON file."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in names and isinstance(value, str):
                yield value
            elif name in names and isinstance(value, list) and value and isinstance(value[0], str):
                yield from value
            elif name in names and isinstance(value, dict):
                yield from value.keys()
            elif name not in _NOT_SAID:
                yield from _texts(value, names)
    elif isinstance(document, list):
        for each in document:
            yield from _texts(each, names)


def template() -> Catalog:
    """A catalogue of all English sentences of the page, with the files that hold them."""
    catalog = Catalog()
    # A fixed date, or a catalogue would change without a change of its sentences.
    catalog.creation_date = datetime(2026, 1, 1, tzinfo=UTC)

    def add(message: str | tuple[str, ...], path: Path, context: str | None = None) -> None:
        catalog.add(message, None, [(path.relative_to(_ROOT).as_posix(), 0)], context=context)

    for room in ("demo", "models"):
        for path in sorted((_ROOT / room).rglob("*.py")):
            for message in _said_in_python(path.read_text(encoding="utf-8")):
                add(message, path)
    for file, message in said_in_scripts():
        add(message, ASSETS / "scripts" / file)
    for pattern, names in _TEXTS.items():
        for path in sorted(ASSETS.glob(pattern)):
            for text in _texts(json.loads(path.read_text(encoding="utf-8")), names):
                add(text, path)
    glossary = ASSETS / "glossary.json"
    for term in json.loads(glossary.read_text(encoding="utf-8")):
        for form in (term["name"], *term["also"]):
            add(form, glossary, context="term")
    return catalog


def update(file: Path, said: Catalog) -> None:
    """Update one language's catalogue to the sentences in `said`, or begin it."""
    catalog = Catalog(locale=file.stem, header_comment="# Clearhead in another language.", fuzzy=False)
    if file.exists():
        with file.open("rb") as opened:
            catalog = read_po(opened, file.stem)
    catalog.update(said, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    catalog.creation_date = catalog.revision_date = said.creation_date
    with file.open("wb") as opened:
        write_po(opened, catalog, width=120, include_lineno=False, sort_by_file=True, ignore_obsolete=True)


def main() -> None:
    """The command line."""
    said = template()
    files = [SHIPPED / f"{code}.po" for code in sys.argv[1:]] or sorted(SHIPPED.glob("*.po"))
    for file in files:
        update(file, said)


if __name__ == "__main__":
    main()
