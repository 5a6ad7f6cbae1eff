"""The events of a tour: its cards ask about the visitor's own runs, which also grade the answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, for_visitors, in_line
from demo.fields import FIELDS
from demo.language import _
from demo.lectures import Lecture
from demo.runs import DemoService, Finished
from demo.tabs.task_tab import TaskTab
from demo.theme import script
from demo.tour import questions
from demo.tour.card import tour_card, tour_end, tour_offer
from demo.tour.files import Card, Tour, left_out
from demo.tour.questions import ASKS, Look, Question
from demo.widgets import Updates
from demo.widgets.chips import MASK
from models.errors import InputError
from models.outputs.attention import MEAN
from models.outputs.base import TaskOutput
from models.registry import Task
from models.text.characters import says_anything


def create_tour_offer(tours: Mapping[str, Tour]) -> gr.HTML:
    """The line that offers the first of the tours."""
    offered = next(iter(tours.values()), None)
    return gr.HTML(tour_offer(offered) if offered else "", elem_classes="tour-box", label=_("Tour"))


def create_tour_bar() -> gr.HTML:
    """The component of the card; it takes no room outside a tour."""
    return gr.HTML("", js_on_load=script("tour.js"), elem_classes="tour-bar", padding=False, label=_("Tour"))


@dataclass(frozen=True)
class _Place:
    """The number of the card on the page, from 1 (the end is one more), and the visitor's sentence."""

    tour: Tour
    number: int
    sentence: str

    @property
    def card(self) -> Card | None:
        return self.tour.cards[self.number - 1] if self.number <= len(self.tour.cards) else None

    def fields(self, *, example: bool) -> Mapping[str, str]:
        """The fields that the card opens its tab with; raises `InputError` for a sentence that does not fit it."""
        assert self.card is not None  # noqa: S101
        # The example is written for the sentence that the tour offers.
        return self.card.example if example or self.sentence == self.tour.sentence else self.card.filled(self.sentence)


def open_tours(
    service: DemoService,
    tours: Mapping[str, Tour],
    lectures: Mapping[str, Lecture],
    bar: gr.HTML,
    tabs: gr.Tabs,
    task_tabs: Mapping[Task, TaskTab],
) -> None:
    """Let the card turn, ask about the fields or the last run, and grade the visitor's answer.

    The browser keeps the card's number and the sentence and sends them with each event; nothing is kept here.
    """
    visited = {task: task_tabs[task] for task in dict.fromkeys(task for tasks in ASKS.values() for task in tasks)}
    inputs: list[Component] = [each for tab in visited.values() for each in (tab.reader.finished, *tab.inputs)]

    def place_of(event: gr.EventData) -> _Place | None:
        tour = tours.get(str(event.tour))
        if tour is None:
            return None
        number = min(max(_whole(event.card), 1), len(tour.cards) + 1)
        return _Place(tour, number, str(event.sentence)[: service.settings.limits.text].strip() or tour.sentence)

    def turn(event: gr.EventData) -> Updates:
        place = place_of(event)
        if place is None:
            return {bar: ""}
        if place.card is None:
            return {bar: tour_end(place.tour, lectures.values())}
        tab, notice = visited[place.card.task], ""
        try:
            filled = tab.fill(place.fields(example=bool(event.example)))
        except InputError as error:
            filled, notice = {}, _(error.sentence)
        button = _(tab.run_button.value)
        return {
            bar: tour_card(place.tour, place.number, button, notice=notice),
            tabs: gr.update(selected=tab.opens),
            **filled,
        }

    def show(event: gr.EventData, values: tuple[Any, ...], chosen: str | None) -> Updates:
        place = place_of(event)
        if place is None or place.card is None:
            return {bar: gr.skip()}
        card, tab = place.card, visited[place.card.task]
        start = inputs.index(tab.reader.finished)
        finished, checkpoint, *given = values[start : start + 1 + len(tab.inputs)]
        fields, asked, notice = tab.named(tuple(given)), None, ""
        try:
            if card.asks_of_attention:
                asked = _about_attention(service, card, finished, fields, event)
            elif chosen is not None:
                asked = questions.about(finished.output, _left_out(finished.run.fields, place.sentence))
            elif _is_ready(card.task, fields):
                foreseen = _foreseen(service, card.task, fields, checkpoint)
                asked = questions.about(foreseen, _left_out(fields, place.sentence))
        except InputError as error:
            notice = _(error.sentence)
        chosen, waits = chosen if asked else None, not asked and not notice
        button = _(tab.run_button.value)
        return {bar: tour_card(place.tour, place.number, button, asked, chosen, notice, waits=waits)}

    def ask(event: gr.EventData, *values: Any) -> Updates:
        return show(event, values, None)

    def grade(event: gr.EventData, *values: Any) -> Updates:
        return show(event, values, str(event.chosen))

    forms = [each for tab in visited.values() for each in tab.form]
    bar.select(for_visitors(turn), None, [bar, tabs, *forms], trigger_mode="always_last", **QUICK)
    for event, handler in ((bar.edit, ask), (bar.submit, grade)):
        event(
            for_visitors(handler),
            inputs,
            bar,
            show_progress="hidden",
            trigger_mode="always_last",
            **in_line(service.settings),
        )


def _whole(number: object) -> int:
    """A whole number as the page sends it; -1, which is also `MEAN`, for anything else."""
    return int(number) if isinstance(number, int | float) and abs(number) < 10**6 else MEAN


def _is_ready(task: Task, fields: Mapping[str, Any]) -> bool:
    """Whether every text that the card's question needs is typed."""
    needed = [str(fields[name]) for name, field in FIELDS[task].items() if field.is_text and not field.may_be_empty]
    return all(map(says_anything, needed)) and (task is not Task.FILL_MASK or MASK in needed[0])


def _foreseen(service: DemoService, task: Task, fields: dict[str, Any], checkpoint: str) -> TaskOutput:
    """The result that the visitor's run will have, so that the choices are there before it; it is not logged."""
    if task is Task.COMPLETION:
        fields = fields | {"max_new_tokens": 1}
    return service.answer(task, fields, checkpoint).output


def _left_out(fields: Mapping[str, Any], sentence: str) -> str:
    """The word of the visitor's sentence that the fields leave out, "" where there is none."""
    if "prompt" in fields:
        return left_out(sentence, str(fields["prompt"]))
    text = str(fields.get("text", ""))
    return left_out(sentence, text, MASK) if MASK in text else ""


def _about_attention(
    service: DemoService, card: Card, finished: Finished, fields: Mapping[str, Any], event: gr.EventData
) -> Question | None:
    """The question about a run's attention in the head that is shown; `None` until the fields have been run."""
    read = finished.run.fields
    texts = [name for name, field in FIELDS[card.task].items() if field.is_text and name in fields]
    if not finished.run.id or any(str(read.get(name, "")).strip() != str(fields[name]).strip() for name in texts):
        return None
    attentions = service.attention(finished.source)
    query, layer, head = (_whole(each) for each in (event.query, event.layer, event.head))
    if query >= 0:
        look = Look(query, layer, head)
    elif card.asks == "head":
        look = questions.head_to_ask(attentions, layer, head)
    else:
        look = questions.word_to_ask(attentions, layer, head, str(event.seen))
    return questions.looks(attentions, look)
