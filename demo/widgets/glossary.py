"""The glossary: terms, which open a one-sentence explanation where they are introduced, and the list of all."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import gradio as gr
from pydantic import TypeAdapter

from demo.language import _, forms, language
from demo.theme import ASSETS
from demo.widgets import Updates

_INTRODUCED = re.compile(r"<em>([^<>]{1,40})</em>")
"""The markup of a term where the page's own texts introduce it; a visitor's text holds no such tags."""


@dataclass(frozen=True)
class Term:
    """A term: its `name`, other words and forms that mean it (`also`), and the `sentence` that explains it."""

    name: str
    also: tuple[str, ...]
    sentence: str

    @property
    def anchor(self) -> str:
        """The name as it stands in HTML ids."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower())

    @property
    def name_here(self) -> str:
        """The name in the visitor's language."""
        return forms(self.name, language())[0]


@cache
def glossary() -> tuple[Term, ...]:
    """All terms, in the order in which a walk through a model meets them."""
    return TypeAdapter(tuple[Term, ...]).validate_json((ASSETS / "glossary.json").read_bytes())


def term(name: str, shown: str = "") -> str:
    """A button with the text `shown`, or `name` if empty, that opens the sentence on the term called `name`.

    The sentence opens over the page, which stays as it is; a screen reader has it as the button's description.
    """
    found = _by_form("en")[name.lower()]
    return _opening(found, shown or (name if language() == "en" else found.name_here))


def _opening(term: Term, shown: str) -> str:
    return (
        f'<button type="button" class="term" popovertarget="term-{term.anchor}" '
        f'aria-describedby="term-{term.anchor}">{html.escape(shown)}</button>'
    )


def with_terms(text: str) -> str:
    """`text`, HTML of the page's own, with every emphasised word that is a term as a button that opens its sentence."""

    def linked(introduced: re.Match[str]) -> str:
        word = html.unescape(introduced[1])
        found = _by_form(language()).get(word.lower())
        return _opening(found, word) if found else introduced[0]

    return _INTRODUCED.sub(linked, text)


def terms_linked(updates: Updates) -> Updates:
    """Return the updates of a handler with the terms in their HTML linked."""
    linked = dict(updates)
    for component, value in updates.items():
        if not isinstance(component, gr.HTML):
            continue
        if isinstance(value, str):
            linked[component] = with_terms(value)
        elif isinstance(value, Mapping) and isinstance(value.get("value"), str):
            linked[component] = {**value, "value": with_terms(value["value"])}
    return linked


def link_terms(demo: gr.Blocks) -> None:
    """Link the terms in every HTML text that the page starts with."""
    for block in demo.blocks.values():
        if isinstance(block, gr.HTML) and isinstance(block.value, str):
            block.value = with_terms(block.value)


def create_sentences() -> gr.HTML:
    """Create the popovers of the terms' sentences, hidden until a term is chosen; once on a page, outside its tabs."""
    cards = "".join(
        f'<div popover id="term-{each.anchor}" class="term-card">'
        f"<p><dfn>{html.escape(each.name_here)}</dfn> {html.escape(_(each.sentence))}</p></div>"
        for each in glossary()
    )
    return gr.HTML(cards, elem_classes="term-cards", padding=False, label=_("What the terms mean"))


def glossary_section() -> str:
    """All terms with their sentences, in alphabetical order, each with an anchor of its own."""
    rows = "".join(
        f'<div id="glossary-{each.anchor}"><dt>{html.escape(each.name_here)}</dt>'
        f"<dd>{html.escape(_(each.sentence))}</dd></div>"
        for each in sorted(glossary(), key=lambda each: each.name_here.lower())
    )
    return f'<h2 id="glossary">{_("Glossary")}</h2><dl class="glossary">{rows}</dl>'


@cache
def _by_form(code: str) -> dict[str, Term]:
    """Every term by each of its forms in a language, in lower case."""
    return {form.lower(): each for each in glossary() for said in (each.name, *each.also) for form in forms(said, code)}
