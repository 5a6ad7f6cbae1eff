"""What the tabs of tasks share: one form on the left, one result on the right, and the events that join them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency

from demo.events import PROGRESS, QUICK, Stops, for_visitors, in_line, told
from demo.language import _
from demo.limits import FIELDS
from demo.log.run import Run
from demo.reader.reader import Asked, AttentionReader
from demo.recorded import examples_of, recorded
from demo.runs import DemoService, Finished
from demo.sharing import KEY, ReaderSettings
from demo.tabs.columns import asking, two_columns, visitor_text
from demo.widgets import Updates
from demo.widgets.notice import create_notice, held, noticed
from demo.widgets.picker import create_checkpoint_picker
from demo.widgets.runs import TASK_TITLES, in_lines, run_header
from demo.writing.steps import DecoderSteps, DrawAnswer, growing, growing_answer
from demo.writing.text import choosing
from models.errors import InputError
from models.outputs.base import TaskOutput
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
"""How addresses name the tabs: `?tab=sentiment`. The id of a tab's element is `tab-` and this."""

_SHOW_ANSWER = "() => window.clearhead.showAnswer()"
"""Run in the page when an answer is there: brings it into view and tells screen readers what it says."""

_COPY_LINK = "(address) => window.clearhead.copyLink(address)"
"""Run in the page: copies the whole address that ends like this."""


class TaskTab:
    """A task's tab, made from top to bottom inside `page` and then joined by `connect`.

    `draw` makes the answer of a run as HTML. `fields` are what is asked, by the names of the task's inputs, and
    `notices` the places for a sentence beside those that need one. `below` are components under the answer, each with
    what it shows of an output. `opens` is the id of the tab that all this stands in. `steps` walks through what a
    decoder wrote, in the tabs that have one. `reader` shows attention, for tasks that have any.

    A second form in a tab is folded away under the columns of the `first`, whose model and reader it shares, with a
    header and an answer of its own. `kept` is the run that a copied link leads to, whatever the reader shows.
    """

    tab: gr.Tab
    picker: gr.Dropdown
    run_button: gr.Button
    stop_button: gr.Button
    notice: gr.HTML
    answer: gr.HTML
    reader: AttentionReader
    kept: gr.State

    def __init__(
        self,
        service: DemoService,
        session: gr.BrowserState,
        task: Task,
        draw: DrawAnswer,
        first: "TaskTab | None" = None,
    ) -> None:
        self.service, self.session, self.task, self.draw, self.first = service, session, task, draw, first
        self.example = recorded(task)
        self.opens: str = first.opens if first else task.value
        self.fold: gr.Accordion | None = None
        if first:
            self.tab, self.picker = first.tab, first.picker
            if task.kinds:
                self.reader = first.reader
        self.fields: dict[str, Component] = {}
        self.notices: dict[str, gr.HTML] = {}
        self.below: dict[Component, Callable[[TaskOutput], Any]] = {}
        self.steps: DecoderSteps | None = None
        self._stops = Stops()

    @contextmanager
    def page(self, title: str = "") -> Iterator[None]:
        """Holds the two columns, under this title or that of the task."""
        title = title or _(TASK_TITLES[self.task])
        if self.first:
            with self.tab, gr.Accordion(title, open=False, elem_classes="tool") as self.fold, two_columns():
                yield
        else:
            with gr.Tab(title, id=self.opens, elem_id=f"tab-{TAB_NAMES[self.task]}") as self.tab, two_columns():
                yield

    @contextmanager
    def asking(self, button: str, hint: str) -> Iterator[None]:
        """Holds the fields for the visitor's own words; below them stand a hint, the buttons and the examples."""
        with asking():
            yield
            gr.HTML(f'<p class="quiet hint">{hint}</p>', label=_("What to do"))
            with gr.Row(elem_classes="run-row"):
                look: dict[str, Any] = {"scale": 0, "min_width": 140, "elem_classes": "run-button"}
                self.run_button = gr.Button(button, variant="primary", **look)
                self.stop_button = gr.Button(_("Stop"), variant="stop", visible=False, **look)
            self.notice = create_notice()
            labels = [_(example.label) for example in examples_of(self.task)]
            self._examples = gr.Dataset(
                components=[next(iter(self.fields.values()))],
                samples=[[label] for label in labels],
                sample_labels=labels,
                type="index",
                label=_("Examples"),
                elem_classes="examples",
            )

    def create_text(self, name: str, label: str = "", **more: Any) -> gr.Textbox:
        """The field called `name` for the visitor's own words, and below it the place for a sentence about it."""
        self.fields[name] = text = visitor_text(in_lines(self.example.run.fields[name]), label, **more)
        self.notices[name] = create_notice()
        return text

    @contextmanager
    def settings(self, about: str) -> Iterator[None]:
        """Holds the settings and the model picker, folded away; `about` says below them what the tab shows."""
        with gr.Column(elem_classes="beside"):
            with gr.Accordion(_("Settings and model"), open=False, elem_classes="fold settings"):
                yield
            gr.HTML(f'<p class="lead">{about}</p>', label=_("About this tab"))

    def create_slider(self, name: str, **more: Any) -> gr.Slider:
        """The slider of the field called `name`."""
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

    def create_picker(self) -> None:
        """The choice of a model."""
        self.picker = create_checkpoint_picker(self.task, self.service.defaults)

    def create_answer(self, label: str, script: str | None = None) -> None:
        """The answer and what is run in the page for it; where a decoder wrote it, its tokens can be chosen."""
        script = choosing() if self.task in (Task.TRANSLATION, Task.COMPLETION) else script
        drawn = self.draw(self.example.run, self.example.output, 0)
        self.answer = gr.HTML(drawn, js_on_load=script, elem_classes="answer", label=label)

    def create_header(self) -> None:
        """The line that says what made the answer."""
        with gr.Row(elem_classes="header-row"):
            drawn = run_header(self.example.run, self.example.output, recorded=True)
            self._header = gr.HTML(drawn, elem_classes="header-line")
            self._copy = gr.Button(_("Copy link"), size="sm", scale=0, min_width=96, elem_classes="copy-link")
            self._link = gr.Textbox("", visible="hidden", label="Link to copy")
        if self.first or not self.task.kinds:
            self.kept = held(Finished(self.example.run, self.example.output, self.example.source))

    def create_reader(self, decided: gr.HTML | None = None) -> None:
        """The attention reader, below the line that says what made the answer; `decided` follows a completion."""
        if not hasattr(self, "_header"):
            self.create_header()
        self.reader = AttentionReader(self.service, self.session, self.example, decided)
        self.kept = self.reader.finished

    @property
    def can_be_stopped(self) -> bool:
        """Whether the visitor may end a run, with what there is of its answer."""
        return self.task.grows or self.task.writes

    @property
    def inputs(self) -> list[Component]:
        """The chosen checkpoint, then the fields."""
        return [self.picker, *self.fields.values()]

    @property
    def outputs(self) -> list[Component]:
        """Every component that an answer or a refusal changes."""
        steps = self.steps.outputs if self.steps else []
        read = self.reader.subject if self.task.kinds else []
        own: list[Any] = [each for each in (self.kept, self.fold) if each and each not in read]
        notices = [*self.notices.values(), self.notice]
        return [self.answer, *self.below, *steps, self._header, *read, *own, *notices, self.picker]

    @property
    def form(self) -> list[Block]:
        """Every component that other fields in the form change."""
        return list(self.fields.values())

    def fill(self, fields: Mapping[str, Any]) -> Updates:
        """The updates that put `fields`, by the names of the task's inputs, into the form; what it lacks stays."""
        return {
            self.fields[name]: in_lines(value) if isinstance(value, list | tuple) else value
            for name, value in fields.items()
            if name in self.fields
        }

    @property
    def reopened_outputs(self) -> list[Block]:
        """Every component that reopening a run changes."""
        return [*self.outputs, *self.form]

    @property
    def restored_outputs(self) -> list[Block]:
        """Every component that opening a shared run at its place changes."""
        place = [self.reader.shown, self.reader.chosen, *self.reader.controls.inputs] if self.task.kinds else []
        return [*self.reopened_outputs, *place]

    def connect(self) -> None:
        """Let the button, Enter in a text and the examples run the model, and the other controls do what they say."""
        running: dict[str, Any] = {
            "fn": for_visitors(self.write if self.can_be_stopped else self.run),
            "inputs": [self.session, *self.inputs],
            "outputs": [self.session, *self.outputs, *(self.buttons(writing=False) if self.can_be_stopped else ())],
            "show_progress_on": self.answer,
            **in_line(self.service.settings),
        }
        texts = [field for field in self.fields.values() if isinstance(field, gr.Textbox)]
        asked = gr.on([self.run_button.click, *(text.submit for text in texts)], **running)
        fill = for_visitors(self.fields_of_example)
        tried = self._examples.click(fill, self._examples, self.form, **QUICK)
        for event in (asked, tried.then(**running)):
            self.follow(event)
            event.then(None, None, None, js=_SHOW_ANSWER)
        if self.can_be_stopped:
            self.stop_button.click(self._stops.stop, **QUICK)
        if self.steps:
            chosen, taken = self.steps.connect(self.session, self.answer, self.draw, self.show, self.outputs)
            for event in chosen:
                self.reader.walk(self.steps.slider, event)
            self.reader.follow(taken)
        place = self.reader.controls.inputs if self.task.kinds else []
        linked = self._copy.click(for_visitors(self.link), [self.session, self.kept, *place], self._link, **QUICK)
        linked.success(None, self._link, None, js=_COPY_LINK)

    def follow(self, event: Dependency) -> None:
        """Let the reader, where there is one, show the attention of what `event` has answered."""
        if self.task.kinds:
            self.reader.follow(event)

    def run(
        self, progress: gr.Progress = PROGRESS, session_id: str = "", checkpoint: str = "", *values: Any
    ) -> Updates:
        """Answer what the visitor typed, or say what to mend; `values` are those of the fields, in their order."""
        session_id = self.session_of(session_id)
        fields, checkpoint = self.named(values), self._asked(checkpoint)
        try:
            updates = self.show(self.service.run(session_id, self.task, fields, checkpoint, told(progress)))
        except InputError as error:
            updates = self.refuse(error)
        return updates | {self.session: session_id}

    def write(
        self,
        request: gr.Request,
        progress: gr.Progress = PROGRESS,
        session_id: str = "",
        checkpoint: str = "",
        *values: Any,
    ) -> Iterator[Updates]:
        """Like `run`, for what a decoder writes: it grows on the page where it can, and the visitor can stop it."""
        is_wanted, latest = self._stops.begins(request), None
        session_id = self.session_of(session_id)
        resting = {**self.buttons(writing=False), self.session: session_id}
        if not self.task.grows:
            yield self.buttons(writing=True)
        try:
            fields, checkpoint = self.named(values), self._asked(checkpoint)
            run = growing(self.service, self.task, session_id, fields, checkpoint, is_wanted, told(progress))
            with closing(run):
                for latest in run:
                    if grown := self.grown(latest):
                        yield {self.answer: grown, **self.buttons(writing=True)}
        except InputError as error:
            yield self.refuse(error) | resting
            return
        yield (self.show(latest) if latest else {}) | resting

    def grown(self, run: Finished) -> str:
        """The answer so far of a run that is still growing, nothing once it is finished."""
        return growing_answer(run)

    def _asked(self, chosen: str) -> str:
        """The chosen checkpoint, unless a task has one alone: then the tab's choice is about another task."""
        return chosen if len(checkpoints_for(self.task)) > 1 else ""

    def named(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """The values of the fields by their names."""
        return dict(zip(self.fields, values, strict=True))

    def buttons(self, *, writing: bool) -> Updates:
        """Stop while the model writes, and the button that starts it while it does not."""
        return {self.run_button: gr.update(visible=not writing), self.stop_button: gr.update(visible=writing)}

    def fields_of_example(self, number: int) -> Updates:
        """The fields of an example; a text that it leaves out is empty, and a setting is as the page opened with it."""
        given, known = examples_of(self.task)[number].fields, FIELDS[self.task]
        left_out = {name: "" if known[name].is_text else field.value for name, field in self.fields.items()}
        return self.fill(left_out | given)

    def session_of(self, session_id: str) -> str:
        """The browser's session, or a new one for a visitor who was quicker than the page's first event."""
        return session_id or self.service.new_session()

    def show(self, finished: Finished) -> Updates:
        """The answer and its header; the reader then follows the new attention source, and a fold opens."""
        return {
            self.answer: self.draw(finished.run, finished.output, 0),
            **{component: draw(finished.output) for component, draw in self.below.items()},
            **(self.steps.show(finished) if self.steps else {}),
            self._header: run_header(finished.run, finished.output, kept=self.service.is_kept(finished.run)),
            self.kept: finished,
            **(self.reader.turn_to(finished) if self.task.kinds else {}),
            **({self.fold: gr.update(open=True)} if self.fold else {}),
            **self.clear(),
        }

    def refuse(self, error: InputError) -> Updates:
        """The sentence beside its field; a checkpoint that cannot be had gives way to the bundled one."""
        updates, sentence = self.clear(), _(error.sentence)
        if error.field == "checkpoint":
            updates[self.picker] = checkpoints_for(self.task)[0].name
            sentence += " " + _("Your text is kept and the bundled model is selected.")
        updates[self.notices.get(error.field, self.notice)] = noticed(sentence)
        return updates

    def clear(self) -> Updates:
        """No sentence anywhere."""
        return {notice: noticed("") for notice in (*self.notices.values(), self.notice)}

    def reopen(self, run: Run) -> Updates:
        """A logged run as it was: its fields, its checkpoint, and its answer or the sentence it ended with.

        The choice of a model stays where another answered, which it does not offer.
        """
        kept = self.fill(run.fields)
        if run.checkpoint in (name for _title, name in self.picker.choices or ()):
            kept[self.picker] = run.checkpoint
        try:
            return self.show(self.service.reopen(run)) | kept
        except InputError as error:
            return self.refuse(InputError(run.error or error.sentence)) | kept

    def restore(self, run: Run, place: ReaderSettings) -> Updates:
        """A run that somebody shared, as it was and where it was looked at; its owner's alone stays its id."""
        updates = self.reopen(run)
        if run.answer is None or not self.task.kinds:
            return updates
        finished = self.service.reopen(run)
        updates |= self.reader.turn_to(finished, own=False)
        updates |= self.reader.turn_to_place(place)
        if self.steps and place.step:
            updates |= self.steps.go_to(finished, place.step)
            updates[self.answer] = self.draw(run, finished.output, place.step)
        return updates

    def link(self, session_id: str, finished: Finished, *place: Any) -> str:
        """The end of an address: of the run as it is shown where it is the visitor's own, else of the tab.

        `place` are the values of the reader's controls, where there is a reader.
        """
        try:
            key = self.service.log.share(finished.run.id, session_id)
        except InputError:
            return "?tab=" + TAB_NAMES[self.task]
        settings = Asked(finished, 0, -1, False, *place).place if place else ReaderSettings()
        return f"?{urlencode({KEY: key})}#{settings.as_fragment()}"
