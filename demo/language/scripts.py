"""What the page's scripts say, in the visitor's language: a script that runs before those that speak."""

import json
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations, c2py

from demo.language import catalogue_of, language
from demo.theme import ASSETS, script

_KEYWORDS = {"t": None, "nt": (1, 2)}
"""The functions of `text.js` that translate, and which of their arguments are sentences, as babel looks for them."""

_COUNTS = (*range(200), 1_000_000)
"""In every language, these need all of its plural forms; French has one for millions."""


def script_texts() -> str:
    """The script that defines how scripts speak, with all that they say in the language at hand."""
    return _script(language())


@cache
def _script(code: str) -> str:
    catalogue = catalogue_of(code)
    if not isinstance(catalogue, GNUTranslations):
        return script("text.js")
    # An expression of C, which `gettext` found harmless and JavaScript reads.
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
    """Each sentence of the scripts with its file's name; of each that counts, its forms for one and for more."""
    from babel.messages.extract import extract_from_dir

    found = extract_from_dir(ASSETS / "scripts", [("**.js", "javascript")], keywords=_KEYWORDS)
    for file, _line, message, _comments, _context in found:
        yield file, message
