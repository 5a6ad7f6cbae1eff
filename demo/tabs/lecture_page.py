"""A lecture as one HTML file: every step's sentence and picture, one to a screen, without a network."""

import html
from collections.abc import Mapping
from dataclasses import replace

from demo.attempt import Finished
from demo.components.inside.take_away import step_part
from demo.components.lecture_bar import marked
from demo.components.offline_page import following_the_system, offline_page, plotting
from demo.components.saved_file import TextFile
from demo.components.taken import Taken
from demo.components.taken_page import taken_part, taken_script
from demo.inside_request import InsideRequest
from demo.lectures import Lecture, LectureStep, TaskView
from demo.plots.roles import role_of
from demo.plots.shown import shown, so_far
from demo.tabs.inside import InsideTab
from demo.tabs.task_tab import TaskTab
from models.registry import Task


def lecture_file(lecture: Lecture, task_tabs: Mapping[Task, TaskTab], inside: InsideTab) -> TextFile:
    """The file of `lecture`; raises `InputError` for a step that cannot be computed now."""
    sections, figures = [], []
    for number, step in enumerate(lecture.steps, start=1):
        picture, drawn = _picture(step, task_tabs, inside)
        figures += drawn
        sections.append(
            f'<section class="lecture-page"><p class="quiet">{html.escape(lecture.title)}, step {number} of '
            f'{len(lecture.steps)}</p><h1>{html.escape(step.title)}</h1><p class="lecture-text">{marked(step.text)}</p>'
            f"{picture}</section>"
        )
    scripts = [following_the_system() + taken_script(), *plotting(figures)]
    page = offline_page(lecture.title, f'<main class="prose">{"".join(sections)}</main>', scripts)
    return TextFile(page, f"clearhead-lecture-{lecture.name}.html", "text/html;charset=utf-8")


def _picture(step: LectureStep, task_tabs: Mapping[Task, TaskTab], inside: InsideTab) -> tuple[str, list[str]]:
    """What the step shows, as HTML, and the figures in it."""
    if isinstance(step.view, InsideRequest):
        own = [each.value for built in inside.built.values() for each in built.inputs]
        values = [step.view.step, *inside.controls.values(step.view), *own]
        shown_step, request = inside.asked_for(*values)
        return step_part(shown_step, request, inside.built[shown_step.key], inside.picture(*values))
    return taken_part(_taken(task_tabs[step.view.task], step.view)), []


def _taken(tab: TaskTab, view: TaskView) -> Taken:
    """The answer of a task to the step's text and its attention, as the reader would show it; nobody's run."""
    done = tab.service.answer(view.task, dict(view.fields), view.checkpoint)
    place = view.place
    finished = Finished(replace(done.run, id=""), done.output, done.source)
    seen = tab.reader.see(finished, place.kind, place.how, place.layer, place.head)
    not_yet = max(0, len(done.source.written) - place.step) if place.step else 0
    return Taken(finished, shown(seen, place.words, place.specials, not_yet), place, role_of(so_far(seen, not_yet)))
