"""HTML of a tour's card, with one idea, one thing to do and a question, and of the line that offers a tour."""

import html
from collections.abc import Iterable

from demo.language import N_, _
from demo.lectures import Lecture, query_of
from demo.tour.files import Card, Tour
from demo.tour.questions import Question, shown_choice
from demo.widgets.glossary import with_terms

_SOON = N_("The question comes in a moment.")
_WRONG = N_("Not this time: it is “{answer}”.")
_UNGUESSED = N_("You did not guess this time: it is “{answer}”.")


def tour_offer(tour: Tour) -> str:
    """HTML of the offer for a first visit and the quiet link for later ones; `tour.js` shows the one that fits."""
    take = _("Take the tour")
    return (
        f'<p class="tour-offer" hidden><span>{_("New here?")}</span> '
        f'<button type="button" data-tour="start">{take}</button> '
        f'<button type="button" data-tour="decline">{_("No, thanks")}</button></p>'
        f'<p class="tour-link" hidden><a href="?tour={tour.name}" data-tour="start">{take}</a></p>'
    )


def tour_card(
    tour: Tour,
    number: int,
    button: str,
    asked: Question | None = None,
    chosen: str | None = None,
    notice: str = "",
    *,
    waits: bool = False,
) -> str:
    """HTML of card `number` of `tour`, counted from 1, about a tab whose run button is called `button`.

    Without `asked`, the card says that its question is coming, unless it `waits` for the visitor to act. `chosen` is
    the visitor's answer, "" for none, once the run has shown the right one. `notice` says why a text has no question.
    """
    card = tour.cards[number - 1]
    data = {"card": number, "tour": tour.name, "asks": "attention" if card.asks_of_attention else "answer"}
    if asked:
        data["question"] = "yes"
    if asked and asked.look:
        data |= {"query": asked.look.query, "layer": asked.look.layer, "head": asked.look.head}
        data["turns"] = str(card.asks == "head").lower()
    if asked and chosen is not None:
        data["graded"] = ("right" if chosen == asked.right else "wrong") if chosen else "unguessed"
    attributes = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    if notice:
        below = (
            f'<p class="tour-notice" role="status">{html.escape(notice)}</p>'
            f'<button type="button" data-tour="example">{_("Take the example")}</button>'
        )
    elif asked:
        below = _question(card, asked, button, chosen)
    else:
        below = "" if waits else f'<p class="quiet">{_(_SOON)}</p>'
    # Instructions that only lead to the question are left out once it is there; those about the run itself stay.
    to_do = waits or not (card.asks_of_attention or (asked and card.asks == "blank"))
    do = f'<p class="tour-do">{html.escape(_(card.to_do))}</p>' if to_do and chosen is None else ""
    text = with_terms(html.escape(_(card.text)))
    idea = f'{_heading(tour, number, _(card.title))}<p class="tour-text">{text}</p>{do}'
    return (
        f'<section class="tour-card" aria-label="{_("Tour")}"{attributes}><div class="tour-idea">{idea}</div>'
        f'<div class="tour-asks">{below}{_steps(number)}</div></section>'
    )


def tour_end(tour: Tour, lectures: Iterable[Lecture]) -> str:
    """HTML of the last card: how many answers were right, and where to go on."""
    number = len(tour.cards) + 1
    links = ", ".join(f'<a href="{html.escape(query_of(each))}">{html.escape(_(each.title))}</a>' for each in lectures)
    inside = _('<a href="?tab=inside">Inside</a> works out every number of it, step by step, on your own text.')
    return (
        f'<section class="tour-card" aria-label="{_("Tour")}" data-card="{number}" data-tour="{tour.name}">'
        f'<div class="tour-idea">{_heading(tour, number, _("That was the tour"))}'
        '<p class="tour-score"></p></div><div class="tour-asks"><ul class="tour-on">'
        f"<li>{inside}</li><li>{_('The lectures go on from here: {links}.', links=links)}</li></ul>"
        f"{_steps()}</div></section>"
    )


def _heading(tour: Tour, number: int, title: str) -> str:
    place = _("Card {number} of {count}", number=number, count=len(tour.cards) + 1)
    return (
        f'<p class="quiet tour-place">{place} <span class="tour-right"></span>'
        f'<button type="button" data-tour="leave">{_("Leave the tour")}</button></p>'
        f'<h2 tabindex="-1">{html.escape(title)}</h2>'
    )


def _steps(number: int = 0) -> str:
    """HTML of the buttons to the cards before and after; without `number`, on the last card, to the first again."""
    back = "" if number == 1 else f'<button type="button" data-tour="back">{_("Back")}</button>'
    onwards = ("next", _("Next")) if number else ("again", _("Start again"))
    return f'<p class="tour-steps">{back}<button type="button" data-tour="{onwards[0]}">{onwards[1]}</button></p>'


def _question(card: Card, asked: Question, button: str, chosen: str | None) -> str:
    then = verdict(asked, chosen) or f'<p class="tour-then">{html.escape(_then(card, asked, button))}</p>'
    return choices(card.question, asked, chosen) + then


def choices(question: str, asked: Question, chosen: str | None = None) -> str:
    """HTML of the question and its choices; `chosen` is the visitor's answer once the right one is shown."""
    question, places = _(question), {"{word}": _("“{word}”", word=asked.word)}
    if asked.look:
        places |= {"{layer}": str(asked.look.layer + 1), "{head}": str(asked.look.head + 1)}
    for place, shown in places.items():
        question = question.replace(place, shown)
    graded = chosen is not None
    labels = "".join(
        f'<label class="tour-choice{_mark(each, asked, chosen)}"><input type="radio" name="tour-choice" '
        f'value="{html.escape(each)}"{" checked" if each == chosen else ""}{" disabled" if graded else ""}>'
        f"<bdi>{html.escape(shown_choice(each))}</bdi></label>"
        for each in asked.choices
    )
    return f"<fieldset><legend>{html.escape(question)}</legend>{labels}</fieldset>"


def verdict(asked: Question, chosen: str | None) -> str:
    """HTML that says whether the visitor was right, and why; "" before the right answer is shown."""
    if chosen is None:
        return ""
    said = _("Right.")
    if chosen != asked.right:
        said = _(_WRONG if chosen else _UNGUESSED, answer=shown_choice(asked.right))
    return f'<p class="tour-verdict"><strong>{html.escape(said)}</strong> {html.escape(asked.because)}</p>'


def _mark(choice: str, question: Question, chosen: str | None) -> str:
    if chosen is None:
        return ""
    return " is-right" if choice == question.right else " is-wrong" if choice == chosen else ""


def _then(card: Card, asked: Question, button: str) -> str:
    """A sentence on what to do to see the answer once a choice is made."""
    if asked.look is None:
        return _("Choose, then press “{button}”.", button=button)
    if card.asks == "head":
        return _(
            "Choose, then turn to layer {layer}, head {head} and tap “{word}” in the sentence.",
            layer=asked.look.layer + 1,
            head=asked.look.head + 1,
            word=asked.word,
        )
    return _("Choose, then tap “{word}” in the coloured sentence.", word=asked.word)
