"""Terms with a one-line explanation where they first stand, and the sentences that explain them."""

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
"""How the page's own texts mark a term where it first stands; a visitor's text holds no such tags."""


@dataclass(frozen=True)
class Term:
    """A term: its `name`, other words and forms that mean it (`also`), and what it is in one sentence."""

    name: str
    also: tuple[str, ...]
    sentence: str

    @property
    def anchor(self) -> str:
        """The name as ids have it."""
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
    """`shown` (plain text, `name` where it is empty) as a button that opens the sentence on the term called `name`.

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
    """HTML of ours in which every emphasised word that is a term opens its sentence."""

    def linked(introduced: re.Match[str]) -> str:
        word = html.unescape(introduced[1])
        found = _by_form(language()).get(word.lower())
        return _opening(found, word) if found else introduced[0]

    return _INTRODUCED.sub(linked, text)


def terms_linked(updates: Updates) -> Updates:
    """Add the links to the updates that a handler is about to return."""
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
    """Let the terms in every text that a page opens on open their sentences, and give them a place on it."""
    for block in demo.blocks.values():
        if isinstance(block, gr.HTML) and isinstance(block.value, str):
            block.value = with_terms(block.value)


def create_sentences() -> gr.HTML:
    """The sentences themselves, unseen until a term is chosen; once on a page, outside its tabs."""
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
