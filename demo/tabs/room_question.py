"""Questions of a lecture to its room: phones answer, and the screen in front shows the answers as bars."""

import html
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from threading import Lock

import gradio as gr
from cachetools import TTLCache

from demo.events import QUICK, for_visitors
from demo.fields import FIELDS
from demo.language import _, ngettext
from demo.lectures import ROOM_CODE, Lecture, LecturePlace, TaskView
from demo.theme import script
from demo.tour.card import choices, verdict
from demo.tour.questions import Question, shown_choice
from demo.walk.step import track

KEPT_S = 3 * 3_600
"""The seconds after its last answer until a question of a room is forgotten."""

_MOST_QUESTIONS, _MOST_PAGES = 2_000, 2_000

FindQuestion = Callable[[LecturePlace], Awaitable[Question | None]]
"""Makes the question of a step from the model's answer there; `None` for a step that asks nothing."""


class Votes:
    """The choices of the phones in each room, in memory only, by page: a page's next choice replaces its last."""

    def __init__(self) -> None:
        self._given: TTLCache[tuple[str, str, int], dict[str, str]] = TTLCache(_MOST_QUESTIONS, KEPT_S)
        self._lock = Lock()

    def give(self, place: LecturePlace, page: str, chosen: str) -> None:
        """Record the choice of a page in the room of `place`."""
        with self._lock:
            votes = self._given.get(_key(place), {})
            if page in votes or len(votes) < _MOST_PAGES:
                # Assigning the entry anew restarts its time to live.
                self._given[_key(place)] = votes | {page: chosen}

    def counts(self, place: LecturePlace) -> dict[str, int]:
        """The number of pages per choice; a choice that no page made is left out."""
        with self._lock:
            given = list(self._given.get(_key(place), {}).values())
        return {each: given.count(each) for each in given}


def _key(place: LecturePlace) -> tuple[str, str, int]:
    return place.room, place.lecture.name, place.number


def in_a_room(place: LecturePlace) -> LecturePlace:
    """`place` with a new room, if its lecture has questions and the address named no room."""
    return replace(place, room=secrets.token_hex(4)) if place.lecture.asks and not place.room else place


def create_room_question() -> gr.HTML:
    """The place of the question, below the bar of the lecture; it takes no space if nothing is asked."""
    return gr.HTML(
        "", js_on_load=script("room_question.js"), elem_classes="room-box", padding=False, label=_("Question")
    )


def answer_room_questions(lectures: Mapping[str, Lecture], find: FindQuestion, box: gr.HTML) -> None:
    """Let phones answer the question in `box`, and the screen in front count the answers and show them."""
    votes = Votes()

    def place_of(event: gr.EventData) -> LecturePlace | None:
        lecture, number, room = lectures.get(str(event.lecture)), event.step, str(event.room)
        known = lecture and isinstance(number, int) and 1 <= number <= len(lecture.steps)
        return LecturePlace(lecture, number, "", room) if lecture and known and re.fullmatch(ROOM_CODE, room) else None

    async def vote(event: gr.EventData, request: gr.Request) -> object:
        place = place_of(event)
        asked = await find(place) if place else None
        if place is None or asked is None or event.chosen not in asked.choices:
            return gr.skip()
        votes.give(place, str(request.session_hash), event.chosen)
        return room_question(place, asked, chosen=event.chosen)

    async def look(event: gr.EventData) -> object:
        place = place_of(event)
        if place is None:
            return gr.skip()
        return room_question(place, await find(place), counts=votes.counts(place), shown=bool(event.shown))

    box.submit(for_visitors(vote), None, box, **QUICK)
    box.edit(for_visitors(look), None, box, trigger_mode="always_last", **QUICK)


def room_question(
    place: LecturePlace,
    asked: Question | None = None,
    *,
    chosen: str | None = None,
    counts: Mapping[str, int] | None = None,
    shown: bool = False,
) -> str:
    """The question of a step as HTML: open, graded if an answer was `chosen`, or as bars of `counts` once `shown`.

    If nothing is asked, or the question is not made yet, the HTML only holds the lecture, the step and the room.
    """
    question, counts = place.step.question, counts or {}
    if question is None or asked is None:
        state, inside = "none" if question is None else "waiting", ""
    elif shown:
        state, inside = "shown", _bars(question.text, asked, counts)
    else:
        state = "open" if chosen is None else "answered"
        asks = choices(question.text, asked, chosen) + verdict(asked, chosen)
        inside = _texts(place) + asks + _for_the_screen(sum(counts.values()))
    return (
        f'<section class="room-question" aria-label="{_("Question to the room")}" data-lecture="{place.lecture.name}" '
        f'data-step="{place.number}" data-room="{place.room}" data-state="{state}">{inside}</section>'
    )


def _texts(place: LecturePlace) -> str:
    """The texts that the question is about, because the screen in front does not show the form."""
    view = place.step.view
    if not isinstance(view, TaskView):
        return ""
    texts = [view.fields[name] for name, each in FIELDS[view.task].items() if each.is_text and not each.may_be_empty]
    return "".join(f'<p class="room-text"><bdi>{html.escape(each)}</bdi></p>' for each in texts)


def _for_the_screen(answers: int) -> str:
    said = ngettext("{count} answer so far.", "{count} answers so far.", answers)
    return (
        f'<p class="room-screen"><span>{said}</span> <button type="button" class="room-show" '
        f'aria-keyshortcuts="a">{_("Show the answer")} <kbd>a</kbd></button></p>'
    )


def _bars(question: str, asked: Question, counts: Mapping[str, int]) -> str:
    most = max(1, sum(counts.values()))
    rows = "".join(
        f"<li{' class=is-right' if each == asked.right else ''}><bdi>{html.escape(shown_choice(each))}</bdi>"
        f"{track(counts.get(each, 0) / most)}<span>{counts.get(each, 0)}</span></li>"
        for each in asked.choices
    )
    legend = choices(question, replace(asked, choices=()))
    return f'{legend}<ul class="room-bars">{rows}</ul><p class="tour-verdict">{html.escape(asked.because)}</p>'
