"""Sentences, plurals and numbers in the visitor's language, translated where they are shown.

The code holds the English; `assets/languages/` holds a catalogue for each other language, in gettext's format.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from string import Formatter
from typing import Any

from models.wording import N_ as N_
from models.wording import Sentence

LANGUAGES = {"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español"}
"""The languages of the page by their code, each by its own name."""

COOKIE = "clearhead_language"
"""The cookie that keeps the language that a visitor chose."""

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "languages"
_folders = [SHIPPED]
_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)
_asked_for: ContextVar[str] = ContextVar("asked_for", default="en")
_headers_of_call: Callable[[], Mapping[str, str] | None] = lambda: None  # noqa: E731


def speak_to_callers(headers_of_call: Callable[[], Mapping[str, str] | None]) -> None:
    """Answer each call in the language that it asks for; `headers_of_call` returns the current call's headers."""
    global _headers_of_call
    _headers_of_call = headers_of_call


def add_catalogues(folder: Path) -> None:
    """Offer the languages whose catalogues a host keeps in `folder`, each in a file such as `nl.po`."""
    _folders.insert(0, folder)
    catalogue_of.cache_clear()
    _preferred.cache_clear()
    for file in sorted(folder.glob("*.po")):
        LANGUAGES[file.stem] = name_of(file.stem)


def name_of(code: str) -> str:
    """The name of a language in that language: "Nederlands" for "nl"."""
    from babel import Locale

    name = Locale.parse(code).get_display_name(code) or code
    return name[:1].upper() + name[1:]


def direction(code: str) -> str:
    """The writing direction of a language: "ltr" or, from right to left, "rtl"."""
    if code == "en":
        return "ltr"
    from babel import Locale

    return str(Locale.parse(code).text_direction)


def language() -> str:
    """The code of the current language: that of `spoken`, else what the call asks for, else English."""
    if code := _spoken.get():
        return code
    # Gradio answers some calls within another call's context, so the call's own headers go before `_asked_for`.
    headers = _headers_of_call()
    return _asked_for.get() if headers is None else language_of(headers)


def language_of(headers: Mapping[str, str]) -> str:
    """The language that a request asks for: the one that its visitor chose, or the first that the browser prefers."""
    for cookie in headers.get("cookie", "").split(";"):
        name, _equals, code = cookie.strip().partition("=")
        if name == COOKIE and code in LANGUAGES:
            return code
    return _preferred(headers.get("accept-language", ""))


@lru_cache(maxsize=256)
def _preferred(accepted: str) -> str:
    """The one of `LANGUAGES` that an Accept-Language header (RFC 9110, section 12.5.4) prefers, else English."""
    weighed = []
    for place, preference in enumerate(accepted.split(",")[:20]):
        code, _semicolon, weight = (part.strip() for part in preference.partition(";"))
        try:
            quality = float(weight.lower().removeprefix("q=") or 1)
        except ValueError:
            continue
        # A quality of 0 says that the language is not wanted.
        if quality > 0:
            weighed.append((-quality, place, code.partition("-")[0].lower()))
    return next((code for _weight, _place, code in sorted(weighed) if code in LANGUAGES), "en")


def spoken(code: str) -> AbstractContextManager[None]:
    """A context manager: inside it, sentences are in the language called `code`."""
    return _held(_spoken, code)


def asked_for(code: str) -> AbstractContextManager[None]:
    """A context manager: inside it, a call is answered in the language called `code`, unless `spoken` says another."""
    return _held(_asked_for, code)


@contextmanager
def _held(variable: ContextVar[Any], code: str) -> Iterator[None]:
    token = variable.set(code)
    try:
        yield
    finally:
        variable.reset(token)


def _(sentence: str, /, **values: Any) -> str:
    """`sentence` in the visitor's language, with `values` in the places that it names in braces.

    Values are formatted as by `str.format`; numbers then get the separators of the language.
    """
    if isinstance(sentence, Sentence):
        return _(sentence.template, **sentence.values)
    # For "", gettext returns the catalogue's header.
    said = catalogue_of(language()).gettext(sentence) if sentence else ""
    return _IN_LANGUAGE.vformat(said, (), values) if values else said


def ngettext(one: str, many: str, count: int, /, **values: Any) -> str:
    """The sentence for `count` things, which it calls {count}, in the visitor's language; `one` is its form for 1."""
    said = catalogue_of(language()).ngettext(one, many, count)
    return _IN_LANGUAGE.vformat(said, (), {"count": count, **values})


def forms(term: str, code: str) -> tuple[str, ...]:
    """The words of a language for a term of the glossary, the usual one first; "|" separates them in the catalogue."""
    said = catalogue_of(code).pgettext("term", term)
    return tuple(form.strip() for form in said.split("|"))


def number(value: float, spec: str = ",") -> str:
    """`value` as `format` writes it with `spec`, with the separators of the visitor's language."""
    return format(value, spec).translate(_separators(language()))


class _InLanguage(Formatter):
    """`str.format` whose numbers have the separators of the visitor's language."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        """Format a number as `number` does, and all else as `str.format` does, in the visitor's language."""
        if isinstance(value, Sentence):
            return _(value)
        if isinstance(value, int | float):
            return number(value, format_spec)
        if isinstance(value, datetime):
            format_spec = format_spec.replace("%b", _month(value, language()))
        return super().format_field(value, format_spec)


_IN_LANGUAGE = _InLanguage()


def _month(moment: datetime, code: str) -> str:
    if code == "en":
        return f"{moment:%b}"
    from babel.dates import format_datetime

    return format_datetime(moment, "MMM", locale=code)


@cache
def _separators(code: str) -> dict[int, str]:
    if code == "en":
        return {}
    from babel.numbers import get_decimal_symbol, get_group_symbol

    # A narrow no-break space stands before a percent sign, as in this page's English texts.
    return str.maketrans({",": get_group_symbol(code), ".": get_decimal_symbol(code), "%": "\u202f%"})


@cache
def catalogue_of(code: str) -> NullTranslations:
    """The translations into the language called `code`; English needs none."""
    if code == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    file = next(folder / f"{code}.po" for folder in _folders if (folder / f"{code}.po").exists())
    with file.open("rb") as opened:
        write_mo(compiled, read_po(opened, code))
    compiled.seek(0)
    return GNUTranslations(compiled)
