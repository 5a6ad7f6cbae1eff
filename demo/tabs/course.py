"""The calls that courses on Transformers begin with, each with a button to its tab and a line of Python."""

import html
from collections.abc import Mapping

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.fields import FIELDS
from demo.language import N_, _
from demo.recorded import examples_of
from demo.tabs.task_tab import TaskTab
from demo.widgets import Updates
from demo.widgets.runs import TASK_TITLES
from models.registry import Task

CHAPTER: dict[str, tuple[Task, bool]] = {
    "fill-mask": (Task.FILL_MASK, True),
    "sentiment-analysis": (Task.SENTIMENT, True),
    "ner": (Task.NAMES, True),
    "text-generation": (Task.COMPLETION, True),
    "question-answering": (Task.QUESTION_ANSWERING, False),
    "translation": (Task.TRANSLATION, False),
    "feature-extraction": (Task.WORD_IN_CONTEXT, True),
}
"""For each task name of `pipeline`, the task here, and whether transformers 5 still has that pipeline."""

_TITLE = N_("A course’s first chapter, running")
_SAID = N_(
    "Courses on Transformers often begin with <code>pipeline(…)</code> and a task’s name. transformers 5 took question "
    "answering and translation out, and every one of them wants a download first. Here they run, without a network: "
    "press a button to open the tab with an example, or ask from Python in this project’s folder, after "
    "<code>from models import load_model</code>."
)
_GONE = N_("gone from transformers 5")


def create_course(tabs: gr.Tabs, task_tabs: Mapping[Task, TaskTab]) -> None:
    """Create the section: a row for each call, whose button opens its tab with an example in the form."""
    said = f'<h2 id="course">{_(_TITLE)}</h2><p>{_(_SAID)}</p>'
    gr.HTML(f'<div class="prose-page">{said}</div>', label=_("A course’s first chapter"))
    for name, (task, lasts) in CHAPTER.items():
        with gr.Row(elem_classes="course-row"):
            button = gr.Button(_("Open: {tab}", tab=_(TASK_TITLES[task])), size="sm", scale=0, min_width=190)
            gone = "" if lasts else f", {_(_GONE)}"
            gr.HTML(
                f"<p><code>pipeline(\"{name}\")</code><span class='quiet'>{gone}</span><br>"
                f"<code>{html.escape(call(task))}</code></p>",
                label=_("{name} from Python", name=name),
            )
        form = task_tabs[task]

        def open_tab(form: TaskTab = form) -> Updates:
            return {tabs: gr.update(selected=form.opens), **form.fields_of_example(0)}

        button.click(for_visitors(open_tab), None, [tabs, *form.form], **QUICK)


def call(task: Task) -> str:
    """The line of Python that runs the first example of `task` with default settings."""
    fields = FIELDS[task]
    given = {name: value for name, value in examples_of(task)[0].fields.items() if fields[name].is_text}
    return f'load_model("{task.endpoint}")({", ".join(f"{name}={value!r}" for name, value in given.items())})'
