"""A lecture on the page: one step at a time for a room, and the whole lecture as one file."""

import asyncio
import html
import re
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.components.plot import PlotData

from demo.caches import LONGEST_WAIT_S, TOO_LONG
from demo.events import QUICK, for_visitors
from demo.language import _, language, spoken
from demo.lectures import (
    LECTURE,
    Lecture,
    LecturePlace,
    LectureStep,
    RoomQuestion,
    TaskView,
    lectures_of,
    place_of,
)
from demo.plots.view import AttentionView
from demo.reader.export import taken_part, taken_script
from demo.runs import Finished
from demo.settings import MODEL_QUEUE, Settings
from demo.tabs.inside import InsideTab
from demo.tabs.room_question import answer_room_questions, in_a_room, room_question
from demo.tabs.task_tab import TaskTab
from demo.theme import script
from demo.tour import questions
from demo.tour.questions import Question
from demo.walk.steps import STEPS
from demo.walk.view import InsideRequest
from demo.widgets import Updates
from demo.widgets.figure import for_room
from demo.widgets.lecture_bar import leads_only_here, lecture_bar, lecture_refused, marked, reach_notice
from demo.widgets.saved import SavedFile, TextFile, html_file, offline_page
from models.errors import InputError
from models.registry import Task

Picture = tuple[str, list[str]]
"""A step's picture as HTML, and the figures in it."""


def lecture_file(lecture: Lecture, task_tabs: Mapping[Task, TaskTab], inside: InsideTab) -> TextFile:
    """The whole `lecture` as a page; raises `InputError` for a step that cannot be computed now."""
    sections, figures = [], []
    for number, step in enumerate(lecture.steps, start=1):
        picture, drawn = _picture(step.view, task_tabs, inside)
        figures += drawn
        place = _(
            "{lecture}, step {number} of {count}", lecture=_(lecture.title), number=number, count=len(lecture.steps)
        )
        sections.append(
            f'<section class="lecture-page"><p class="quiet">{html.escape(place)}</p><h1>{html.escape(_(step.title))}'
            f'</h1><p class="lecture-text">{marked(_(step.text))}</p>{picture}</section>'
        )
    body = f'<main class="prose">{"".join(sections)}</main>'
    return html_file(offline_page(_(lecture.title), body, taken_script(), figures), f"clearhead-lecture-{lecture.name}")


def _picture(view: InsideRequest | TaskView, task_tabs: Mapping[Task, TaskTab], inside: InsideTab) -> Picture:
    if isinstance(view, InsideRequest):
        return inside.part(view.step, *inside.values(view), *(each.value for each in inside.own))
    tab = task_tabs[view.task]
    done = tab.service.answer(view.task, dict(view.fields), view.checkpoint)
    # This answer is not logged, so no run has its id.
    finished = Finished(replace(done.run, id=""), done.output, done.source)
    return taken_part(tab.reader.read(finished, view.place)), []


_HERE = """location.href.split('#')[0] + (matchMedia('(min-width: 1000px)').matches
  ? '#room-' + Math.max(1, Math.min(innerWidth / 1280, innerHeight / 720, 4)).toFixed(2) : '')"""
"""JavaScript for the page's address; on a screen for a room, with its scale over 1280 × 720 pixels as the fragment."""

_ADDRESS = f"() => new URLSearchParams(location.search).has('{LECTURE}') ? {_HERE} : ''"
"""JavaScript for a page that opens in a lecture: its whole address, which a server behind a proxy may see otherwise."""


def known_lectures(settings: Settings) -> Mapping[str, Lecture]:
    """The lectures of this host by name; raises `LectureError` with a sentence on the first that cannot be used."""
    return lectures_of(settings.lectures, tuple(step.key for step in STEPS), settings.limits)


def create_lecture_bar() -> gr.HTML:
    """The place of the bar, above the tabs; it takes no space outside a lecture."""
    return gr.HTML(
        "", js_on_load=script("lecture_bar.js"), elem_classes="lecture-bar", padding=False, label=_("Lecture")
    )


def open_lectures(
    lectures: Mapping[str, Lecture],
    host: str | None,
    demo: gr.Blocks,
    bar: gr.HTML,
    room: gr.HTML,
    tabs: gr.Tabs,
    task_tabs: Mapping[Task, TaskTab],
    inside: InsideTab,
) -> None:
    """Make addresses set the page: the bar and the fields at once, then the view, computed once for all visitors.

    The buttons of `inside` save a whole lecture as a file. `host` is the address that the app listens on.
    """
    views = LectureViews(task_tabs, inside)
    address = gr.Textbox("", visible="hidden", label="Address")
    file = SavedFile()

    def turn(address: str, request: gr.Request) -> Updates:
        try:
            place = place_of(address, lectures)
        except InputError as error:
            return {bar: lecture_refused(_(error.sentence)), room: ""}
        if place is None:
            return {bar: "", room: ""}
        place, view = in_a_room(place), place.step.view
        return {
            bar: lecture_bar(place, reach_notice(place.link, host, own=_is_own(request))),
            room: room_question(place) if place.room else "",
            tabs: gr.update(selected=task_tabs[view.task].opens if isinstance(view, TaskView) else "inside"),
            **views.frame(place.step),
        }

    async def show(address: str) -> Updates:
        try:
            place = place_of(address, lectures)
        except InputError:
            place = None
        return _fitted(await views.view(place), address) if place else {views.waiting[0]: gr.skip()}

    for name, button in inside.exports.items():
        # A lecture is computed step by step, so saving it waits in the queue of the models.
        make = partial(lecture_file, lectures[name], task_tabs, inside)
        file.connect(button, make, [], queue=True, concurrency_id=MODEL_QUEUE)
    demo.load(None, None, address, js=_ADDRESS)
    bar.select(None, None, address, js=f"() => {_HERE}")
    answer_room_questions(lectures, views.question, room)
    turned = address.change(for_visitors(turn), address, [bar, room, tabs, *views.outputs], **QUICK)
    turned.then(
        for_visitors(show),
        address,
        views.outputs,
        queue=False,
        show_progress_on=views.waiting,
        trigger_mode="always_last",
        api_visibility="private",
    )


class LectureViews:
    """The views of all steps, each computed once and kept, because a room opens the same step at the same moment.

    They are kept by lecture, number of the step and language.
    """

    def __init__(self, task_tabs: Mapping[Task, TaskTab], inside: InsideTab) -> None:
        self.task_tabs = task_tabs
        self.inside = inside
        self._flights: dict[tuple[str, int, str], Future[Updates]] = {}
        self._questions: dict[tuple[str, int, str], Question] = {}
        self._one_at_a_time = ThreadPoolExecutor(1, "lecture")

    @property
    def outputs(self) -> list[Block]:
        """Every component that a view may change."""
        of_tasks = [
            each
            for tab in self.task_tabs.values()
            for each in (*tab.restored_outputs, *((*tab.reader.all, *tab.reader.tools) if tab.task.kinds else ()))
        ]
        of_inside = [*self.inside.shared, *self.inside.turned, *self.inside.drawn, *self.inside.own]
        changed: list[Block] = [*of_tasks, *of_inside]
        return list(dict.fromkeys(changed))

    @property
    def waiting(self) -> list[Component]:
        """The components that show that a view is being computed."""
        return [self.inside.heading, *(tab.answer for tab in self.task_tabs.values())]

    def frame(self, step: LectureStep) -> Updates:
        """The updates of a view before anything is computed: a task's fields, or the controls of a step of Inside."""
        if isinstance(step.view, InsideRequest):
            return self.inside.open(step.view)
        tab = self.task_tabs[step.view.task]
        return tab.fill(step.view.fields)

    async def view(self, place: LecturePlace) -> Updates:
        """The updates that show the step's view; raises `InputError` if it cannot be computed now.

        Callers wait for it on the event loop and hold no thread.
        """
        flight = self._flight((place.lecture.name, place.number, language()), place.step)
        try:
            # `shield`: a caller who leaves must not cancel it for the others.
            view = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(flight)), LONGEST_WAIT_S)
        except TimeoutError:
            raise InputError(TOO_LONG) from None
        # Copies, because Gradio takes updates apart as it sends them.
        return {block: dict(value) if isinstance(value, dict) else value for block, value in view.items()}

    async def question(self, place: LecturePlace) -> Question | None:
        """The step's question to the room, made from the model's answer, or `None`; raises `InputError` like `view`."""
        if place.step.question is None:
            return None
        await self.view(place)
        return self._questions[place.lecture.name, place.number, language()]

    def _flight(self, key: tuple[str, int, str], step: LectureStep) -> "Future[Updates]":
        """The future of a view, whose computation starts if need be; it is kept unless it fails."""

        def forget_failed(flight: "Future[Updates]") -> None:
            if flight.exception():
                del self._flights[key]

        if key not in self._flights:
            self._flights[key] = self._one_at_a_time.submit(self._computed, key, step)
            # Added before anyone waits, so it is called first.
            self._flights[key].add_done_callback(forget_failed)
        return self._flights[key]

    def _computed(self, key: tuple[str, int, str], step: LectureStep) -> Updates:
        # This thread answers no call, so it has no language of its own.
        with spoken(key[2]):
            return self._spoken(key, step)

    def _spoken(self, key: tuple[str, int, str], step: LectureStep) -> Updates:
        view, inside = step.view, self.inside
        if isinstance(view, InsideRequest):
            own: Updates = {each: each.value for each in inside.own}
            return {**own, **inside.picture(view.step, *inside.values(view), *own.values())}
        tab = self.task_tabs[view.task]
        reader = tab.reader
        updates = tab.restore(tab.service.answer(view.task, dict(view.fields), view.checkpoint).run, view.place)
        finished = updates[reader.finished]
        taken = reader.read(finished, view.place)
        if step.question:
            self._questions[key] = self._question(step.question, finished, taken.view)
        shown = reader.show(taken)
        return {**updates, **reader.clear_tools(finished), **shown, reader.shown: finished.source}

    def _question(self, question: RoomQuestion, finished: Finished, view: AttentionView) -> Question:
        if question.asks != "looks":
            return questions.about(finished.output)
        attentions = self.task_tabs[finished.run.task].service.attention(finished.source)
        return questions.looks(attentions, questions.look_of(attentions, question.word, view.layer, view.head))


def _fitted(updates: Updates, address: str) -> Updates:
    """`updates` with figures scaled for a room, if the `address` of the page ends in a scale (`_HERE`)."""
    found = re.search(r"#room-([1-4]\.[0-9]{2})$", address)
    if not found:
        return updates
    scale = float(found[1])
    fitted: Updates = {}
    for block, update in updates.items():
        if isinstance(update, PlotData):
            update = for_room(update, scale)
        elif isinstance(update, dict) and isinstance(update.get("value"), PlotData):
            update = update | {"value": for_room(update["value"], scale)}
        fitted[block] = update
    return fitted


def _is_own(request: gr.Request) -> bool:
    """Whether the page was opened on this computer: client and `Host` header are local, so no proxy is between."""
    client = request.client.host if request.client else ""
    return leads_only_here(f"http://[{client}]/" if ":" in client else f"http://{client}/") and leads_only_here(
        f"http://{request.headers.get('host', '')}/"
    )
