"""The page in every language: the browser's choice, complete catalogues, and nothing in English alone."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from demo.language import LANGUAGES, N_, SHIPPED, _, forms, language_of, ngettext, number, spoken
from demo.language.catalogues import template
from demo.walk.own_numbers import worked_row
from demo.widgets.glossary import glossary
from models.wording import Sentence, numbered
from tests.pseudo import is_english, pseudo

OTHERS = [code for code in LANGUAGES if code != "en"]


@pytest.mark.parametrize(
    ("cookie", "accepted", "expected"),
    [
        ("", "", "en"),
        ("", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "nl,fr;q=0.5,es;q=0.7", "es"),
        ("", "nl , de ; q=0.4, fr; Q=0.6", "fr"),
        ("", "fr;q=0, de;q=0.1", "de"),
        ("", "zh-CN,zh", "en"),
        ("", "en-US,en;q=0.9,fr;q=0.8", "en"),
        ("a=b; clearhead_language=fr", "de", "fr"),
        ("clearhead_language=klingon", "es-MX", "es"),
        ("clearhead_language", ";q=x,,;;q=,de;q=high,fr", "fr"),
    ],
)
def test_a_visitor_is_answered_in_the_language_that_was_chosen_or_else_the_browsers(
    cookie: str, accepted: str, expected: str
) -> None:
    assert language_of({"cookie": cookie, "accept-language": accepted}) == expected


def test_numbers_and_dates_are_written_as_the_language_does() -> None:
    said, dates = {}, {}
    for code in LANGUAGES:
        with spoken(code):
            said[code] = number(12345.678, ",.2f"), _("{share:.1f} %", share=3.25)
            assert number(0.333, ".1%") == ("33.3%" if code == "en" else "33,3\u202f%")
            dates[code] = _("{made:%d %b %Y, %H:%M}", made=datetime(2026, 3, 5, 14, 7, tzinfo=UTC))
    assert said["en"] == ("12,345.68", "3.2 %")
    assert said["de"] == ("12.345,68", "3,2 %")
    assert said["es"] == ("12.345,68", "3,2 %")
    assert dates == {
        "en": "05 Mar 2026, 14:07",
        "fr": "05 mars 2026, 14:07",
        "de": "05 März 2026, 14:07",
        "es": "05 mar 2026, 14:07",
    }
    assert said["fr"] == ("12\u202f345,68", "3,2 %")


def test_numbers_are_read_as_the_language_writes_them() -> None:
    said = {}
    for code, written in (("en", "0.5 1.5, 2"), ("de", "0,5 1,5, 2"), ("fr", "0.5 1,5, 2")):
        with spoken(code):
            said[code] = worked_row(written, 64).count("<tr")
    assert len(set(said.values())) == 1


def test_a_sentence_of_the_models_can_still_be_translated() -> None:
    sentence = Sentence("The number of answers must be from {least} to {most}.", least=1, most=1000)
    assert sentence == "The number of answers must be from 1 to 1000."
    assert _(sentence) == sentence
    assert Sentence("{not a place}") == "{not a place}"
    with spoken("de"):
        assert _(numbered("layer 3")) == "Schicht 3"
    assert N_("a") == "a"
    assert [ngettext("{count} word", "{count} words", count) for count in (0, 1, 2)] == ["0 words", "1 word", "2 words"]


# Catalogues


@pytest.fixture(scope="module")
def said() -> Catalog:
    return template()


def catalogue(code: str) -> Catalog:
    with (SHIPPED / f"{code}.po").open("rb") as file:
        return read_po(file, code)


def translations(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


def english(message: Message) -> list[str]:
    return [message.id] if isinstance(message.id, str) else list(message.id)


@pytest.mark.parametrize("code", OTHERS)
def test_every_sentence_has_a_translation(code: str, said: Catalog) -> None:
    translated = {(each.context, each.id): each for each in catalogue(code) if not each.fuzzy}
    missing = [
        each.id
        for each in said
        if each.id
        and ((each.context, each.id) not in translated or not all(translations(translated[each.context, each.id])))
    ]
    assert not missing, f"python -m demo.language.catalogues adds these: {missing}"
    assert {each.id for _key, each in translated.items()} <= {each.id for each in said}, "no longer said"


_PLACE = re.compile(r"\{\w+(?:![rs])?(?::[^{}]*)?\}")
_TAG = re.compile(r"</?\w+")


@pytest.mark.parametrize("code", OTHERS)
def test_translations_keep_places_tags_and_marks(code: str) -> None:
    for message in catalogue(code):
        for text in translations(message) if message.id else ():
            model = english(message)[-1]
            places, wanted = set(_PLACE.findall(text)), set(_PLACE.findall(model))
            # A plural form may say "one" in a word.
            assert places == wanted or (isinstance(message.id, tuple) and places <= wanted), (message.id, text)
            assert sorted(_TAG.findall(text)) == sorted(_TAG.findall(model)), (message.id, text)
            assert text.count("*") == model.count("*"), (message.id, text)


_MARKED = re.compile(r"<em>([^<>{}]+)</em>|\*([^*{}]+)\*")


@pytest.mark.parametrize("code", OTHERS)
def test_terms_stay_terms(code: str) -> None:
    """What opens a sentence of the glossary in English does so in every language."""
    known = {form.lower() for each in glossary() for form in (each.name, *each.also)}
    here = {form.lower() for each in glossary() for said in (each.name, *each.also) for form in forms(said, code)}
    for message in catalogue(code):
        if not message.id or message.context:
            continue
        terms = [term for pair in _MARKED.findall(english(message)[-1]) for term in pair if term.lower() in known]
        for text in translations(message):
            marked = [term for pair in _MARKED.findall(text) for term in pair if term.lower() in here]
            assert len(marked) >= len(terms), (message.id, text)


@pytest.mark.parametrize("code", OTHERS)
def test_no_two_terms_share_a_form(code: str) -> None:
    found: dict[str, str] = {}
    for term in glossary():
        for form in {form.lower() for said in (term.name, *term.also) for form in forms(said, code)}:
            assert found.setdefault(form, term.name) == term.name, form


# What the page says


_NOT_TRANSLATED = ("bdi", "code", "math", "style", "script", "textarea")
_SAID_BY = ("aria-label", "title", "alt", "placeholder")
_EMPTY = ("br", "hr", "img", "input", "path", "rect", "line", "circle", "use", "wbr", "col", "stop", "link", "meta")


class _Said(HTMLParser):
    """Every text that HTML of ours says to a visitor, but for the visitor's own words and those of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._foreign: list[bool] = [False]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        foreign = self._foreign[-1] or tag in _NOT_TRANSLATED or given.get("lang") == "en"
        foreign = foreign or given.get("translate") == "no"
        if not foreign:
            self.texts += [given[name] or "" for name in _SAID_BY if name in given]
        if tag not in _EMPTY:
            self._foreign.append(foreign)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY and len(self._foreign) > 1:
            self._foreign.pop()

    def handle_data(self, data: str) -> None:
        if not self._foreign[-1]:
            self.texts.append(data)


def texts_of(markup: str) -> list[str]:
    parser = _Said()
    parser.feed(markup)
    return parser.texts


def said_by(component: dict[str, Any]) -> Iterator[str]:
    """What a component of the page says, in the order in which a visitor might meet it."""
    props, kind = component["props"], component["type"]
    if kind == "api" or (props.get("visible") in (False, "hidden") and kind == "textbox"):
        return
    for name in ("label", "info", "placeholder"):
        if isinstance(props.get(name), str):
            yield from texts_of(props[name])
    if kind in ("html", "markdown", "button", "downloadbutton") and isinstance(props.get("value"), str):
        yield from texts_of(props["value"])
    for name in ("choices", "samples"):
        for choice in props.get(name) or ():
            yield str(choice[0])


def test_nothing_is_said_in_english_alone(in_pseudo: dict[str, Any]) -> None:
    found = sorted({
        (str(component["props"].get("elem_classes") or component["type"]), text)
        for component in in_pseudo["components"]
        for text in said_by(component)
        if is_english(text)
    })  # fmt: skip
    assert not found, "\n".join(f"{where}: {text!r}" for where, text in found)


@pytest.fixture(scope="module")
def in_pseudo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description of the page in a language in which every translated sentence has other letters."""
    from app import demo as page
    from demo import language
    from tests.pseudo import CODE, write_catalogue

    folder: Path = tmp_path_factory.mktemp("languages")
    write_catalogue(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_folders", [folder, *language._folders])
        patch.setitem(language.LANGUAGES, CODE, "עברית")
        with spoken(CODE):
            assert _("Glossary") == pseudo("Glossary")
            return dict(page.config)
