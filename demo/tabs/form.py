"""The form of a tab: its fields, button and examples, and how the fields of a run are put back into it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component

from demo.fields import FIELDS
from demo.language import _
from demo.recorded import examples_of, recorded
from demo.runs import DemoService
from demo.tabs.columns import asking, examples, lead, two_columns, visitor_text
from demo.widgets import Updates
from demo.widgets.notice import create_notice, noticed
from demo.widgets.picker import create_checkpoint_picker
from demo.widgets.runs import TASK_TITLES, in_lines
from models.errors import InputError
from models.registry import Task, checkpoints_for

TAB_NAMES = {
    Task.FILL_MASK: "fill-mask",
    Task.SENTIMENT: "sentiment",
    Task.QUESTION_ANSWERING: "questions",
    Task.NAMES: "names",
    Task.SENTENCE_PAIR: "two-sentences",
    Task.ENDINGS: "two-sentences",
    Task.TRANSLATION: "translate",
    Task.TRANSLATORS: "translate",
    Task.COMPLETION: "write-on",
    Task.WORD_IN_CONTEXT: "one-word",
    Task.TEACH: "teach-it",
    Task.SURPRISE: "surprise",
    Task.WRITTEN_BY: "surprise",
    Task.GENERATIONS: "before-transformers",
    Task.CELLS: "before-transformers",
    Task.TRAINING_STEP: "training",
    Task.TINY_MODEL: "training",
}
"""The names of the tabs in addresses, as in `?tab=sentiment`; the id of a tab's element is `tab-` and its name."""


class TaskForm:
    """The form of a task, whose parts are created from top to bottom inside `page`.

    `fields` are its components by the names of the task's inputs, `notices` the places for messages beside some of
    them. `opens` is the id of the form's tab.

    A second form in a tab is folded away under the columns of the `first`, whose model picker it shares.
    """

    tab: gr.Tab
    picker: gr.Dropdown
    run_button: gr.Button
    stop_button: gr.Button
    notice: gr.HTML

    def __init__(self, service: DemoService, task: Task, first: "TaskForm | None" = None) -> None:
        self.service, self.task, self.first = service, task, first
        self.example = recorded(task)
        self.opens: str = first.opens if first else task.value
        self.fold: gr.Accordion | None = None
        if first:
            self.tab, self.picker = first.tab, first.picker
        self.fields: dict[str, Component] = {}
        self.notices: dict[str, gr.HTML] = {}

    @contextmanager
    def page(self, title: str = "") -> Iterator[None]:
        """A context for the two columns, under `title` or that of the task."""
        title = title or _(TASK_TITLES[self.task])
        if self.first:
            with self.tab, gr.Accordion(title, open=False, elem_classes="tool") as self.fold, two_columns():
                yield
        else:
            with gr.Tab(title, id=self.opens, elem_id=f"tab-{TAB_NAMES[self.task]}") as self.tab, two_columns():
                yield

    @contextmanager
    def asking(self, button: str, hint: str) -> Iterator[None]:
        """A context for the visitor's text fields; below them stand a hint, the buttons and the examples."""
        with asking():
            yield
            gr.HTML(f'<p class="quiet hint">{hint}</p>', label=_("What to do"))
            with gr.Row(elem_classes="run-row"):
                look: dict[str, Any] = {"scale": 0, "min_width": 140, "elem_classes": "run-button"}
                self.run_button = gr.Button(button, variant="primary", **look)
                self.stop_button = gr.Button(_("Stop"), variant="stop", visible=False, **look)
            self.notice = create_notice()
            labels = [_(example.label) for example in examples_of(self.task)]
            self._examples = examples([next(iter(self.fields.values()))], labels, labels)

    def create_text(self, name: str, label: str = "", **more: Any) -> gr.Textbox:
        """Create the field `name` for the visitor's own text and, below it, the place for messages about it."""
        self.fields[name] = text = visitor_text(in_lines(self.example.run.fields[name]), label, **more)
        self.notices[name] = create_notice()
        return text

    @contextmanager
    def settings(self, about: str) -> Iterator[None]:
        """A context for the settings and the model picker, folded away; `about` says below them what the tab shows."""
        with gr.Column(elem_classes="beside"):
            with gr.Accordion(_("Settings and model"), open=False, elem_classes="fold settings"):
                yield
            lead(about, _("About this tab"))

    def create_slider(self, name: str, **more: Any) -> gr.Slider:
        """Create the slider of the field `name`."""
        given = FIELDS[self.task][name].slider
        assert given is not None  # noqa: S101
        self.fields[name] = slider = gr.Slider(
            given.least,
            given.most,
            self.example.run.fields[name],
            step=given.step,
            label=_(given.title),
            info=_(given.meaning) or None,
            **more,
        )
        return slider

    def create_radio(self, name: str, label: str, offered: Iterable[tuple[str, str]]) -> gr.Radio:
        """Create the radio buttons of the field `name`; `offered` pairs the text of each with its value."""
        choices = [(_(said), value) for said, value in offered]
        self.fields[name] = radio = gr.Radio(choices, value=self.example.run.fields[name], label=label)
        return radio

    def create_seed(self, meaning: str) -> gr.Number:
        """Create the field of the random seed; `meaning` explains it to visitors."""
        self.fields["seed"] = seed = gr.Number(
            self.example.run.fields["seed"], label=_("Seed"), info=meaning, precision=0, minimum=0
        )
        return seed

    def create_picker(self) -> None:
        """Create the model picker."""
        self.picker = create_checkpoint_picker(self.task, self.service.defaults)

    @property
    def inputs(self) -> list[Component]:
        """The chosen checkpoint, then the fields."""
        return [self.picker, *self.fields.values()]

    @property
    def form(self) -> list[Block]:
        """Every component that changes when the form is filled in."""
        return list(self.fields.values())

    def fill(self, fields: Mapping[str, Any]) -> Updates:
        """The updates that put `fields`, by the names of the task's inputs, into the form; other fields stay."""
        return {
            self.fields[name]: in_lines(value) if isinstance(value, list | tuple) else value
            for name, value in fields.items()
            if name in self.fields
        }

    def named(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """The values of the fields by their names."""
        return dict(zip(self.fields, values, strict=True))

    def buttons(self, *, writing: bool) -> Updates:
        """The updates that show Stop while the model is `writing`, and otherwise the button that starts it."""
        return {self.run_button: gr.update(visible=not writing), self.stop_button: gr.update(visible=writing)}

    def fields_of_example(self, number: int) -> Updates:
        """The updates that fill in an example; a text that it leaves out is emptied, a setting gets its first value."""
        given, known = examples_of(self.task)[number].fields, FIELDS[self.task]
        left_out = {name: "" if known[name].is_text else field.value for name, field in self.fields.items()}
        return self.fill(left_out | given)

    def refuse(self, error: InputError) -> Updates:
        """The updates that show the error beside its field; the bundled checkpoint replaces one that is unavailable."""
        updates, sentence = self.clear(), _(error.sentence)
        if error.field == "checkpoint":
            updates[self.picker] = checkpoints_for(self.task)[0].name
            sentence += " " + _("Your text is kept and the bundled model is selected.")
        updates[self.notices.get(error.field, self.notice)] = noticed(sentence)
        return updates

    def clear(self) -> Updates:
        """The updates that clear all messages."""
        return {notice: noticed("") for notice in (*self.notices.values(), self.notice)}
