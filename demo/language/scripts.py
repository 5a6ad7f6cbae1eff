"""Translations for the page's scripts: a script that defines them and runs before the others."""

import json
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations, c2py

from demo.language import catalogue_of, language
from demo.theme import ASSETS, script

_KEYWORDS = {"t": None, "nt": (1, 2)}
"""The functions of `text.js` that translate, and which of their arguments are sentences, as babel looks for them."""

_COUNTS = (*range(200), 1_000_000)
"""Counts that together need all plural forms of every language; French has one for millions."""


def script_texts() -> str:
    """The script `text.js`, with the translations of all scripts' sentences into the visitor's language."""
    return _script(language())


@cache
def _script(code: str) -> str:
    catalogue = catalogue_of(code)
    if not isinstance(catalogue, GNUTranslations):
        return script("text.js")
    # A C expression, which `gettext` has checked and JavaScript can read.
    plural = catalogue.info().get("plural-forms", "").partition("plural=")[2].rstrip(" ;") or "n != 1"
    form_of = c2py(plural)
    texts: dict[str, str | list[str]] = {}
    for _file, said in dict.fromkeys(said_in_scripts()):
        if isinstance(said, str):
            texts[said] = catalogue.gettext(said)
        else:
            one, many = said
            forms = {form_of(count): catalogue.ngettext(one, many, count) for count in _COUNTS}
            texts[one] = [forms[form] for form in sorted(forms)]
    # In a page, "<" might begin a tag or end the script.
    written = json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
    return f"window.clearhead = {{texts: {written}, plural: (n) => Number({plural})}};\n{script('text.js')}"


def said_in_scripts() -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Each sentence of the scripts, after its file's name; of a plural, the forms for one and for more."""
    from babel.messages.extract import extract_from_dir

    found = extract_from_dir(ASSETS / "scripts", [("**.js", "javascript")], keywords=_KEYWORDS)
    for file, _line, message, _comments, _context in found:
        yield file, message
