"""The tab of a task: a form on the left, a result on the right, and the events that join them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component
from gradio.components.plot import PlotData
from gradio.events import Dependency

from demo.events import PROGRESS, QUICK, Stops, for_visitors, in_line, told
from demo.language import _
from demo.log.run import Run
from demo.reader.link import KEY, ReaderSettings
from demo.reader.reader import Asked, AttentionReader
from demo.runs import DemoService, Finished
from demo.tabs.form import TAB_NAMES, TaskForm
from demo.widgets import Updates
from demo.widgets.figure import figure_place
from demo.widgets.notice import held
from demo.widgets.runs import run_header
from demo.writing.steps import DecoderSteps, DrawAnswer, growing, growing_answer
from demo.writing.text import choosing
from models.errors import InputError
from models.registry import Task, checkpoints_for

_SHOW_ANSWER = "() => window.clearhead.showAnswer()"
"""JavaScript for when an answer is there: brings it into view and announces it to screen readers."""

_COPY_LINK = "(address) => window.clearhead.copyLink(address)"
"""JavaScript that copies the page's address with the given end."""


class TaskTab(TaskForm):
    """A task's tab: its form, its result, and the events that join them once `connect` is called.

    `draw` makes the answer of a run as HTML. `below` are components under the answer, each with the function that makes
    its value from a run. `steps` walks through a decoder's tokens, in the tabs that have one. `reader` shows attention,
    for tasks that have any; a second form shares that of the `first`, with a header and an answer of its own. `kept` is
    the run that a copied link leads to, whatever the reader shows.
    """

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
        super().__init__(service, task, first)
        self.session, self.draw = session, draw
        if first and task.kinds:
            self.reader = first.reader
        self.below: dict[Component, Callable[[Finished], Any]] = {}
        self._shown_first = Finished(self.example.run, self.example.output, self.example.source)
        self.steps: DecoderSteps | None = None
        self._stops = Stops()

    def create_answer(self, label: str, script: str | None = None) -> None:
        """Create the answer with its JavaScript; the tokens of a translation or completion can be chosen."""
        script = choosing() if self.task in (Task.TRANSLATION, Task.COMPLETION) else script
        drawn = self.draw(self.example.run, self.example.output, 0)
        self.answer = gr.HTML(drawn, js_on_load=script, elem_classes="answer", label=label)

    def show_figure(self, draw: Callable[[Finished], PlotData | None], name: str, *classes: str) -> gr.Plot:
        """Create a figure under the answer, which is redrawn for each run."""
        place = figure_place(draw(self._shown_first), name, *classes)
        self.below[place] = draw
        return place

    def create_header(self) -> None:
        """Create the line that says which model made the answer, and the button that copies a link."""
        with gr.Row(elem_classes="header-row"):
            drawn = run_header(self.example.run, self.example.output, recorded=True)
            self._header = gr.HTML(drawn, elem_classes="header-line")
            self._copy = gr.Button(_("Copy link"), size="sm", scale=0, min_width=96, elem_classes="copy-link")
            self._link = gr.Textbox("", visible="hidden", label="Link to copy")
        if self.first or not self.task.kinds:
            self.kept = held(self._shown_first)

    def create_reader(self, decided: gr.HTML | None = None) -> None:
        """Create the attention reader, below the header; `decided` is the strip of deciding layers of a completion."""
        if not hasattr(self, "_header"):
            self.create_header()
        self.reader = AttentionReader(self.service, self.session, self.example, decided)
        self.kept = self.reader.finished

    @property
    def can_be_stopped(self) -> bool:
        """Whether the visitor may stop a run and keep its answer so far."""
        return self.task.grows or self.task.writes

    @property
    def outputs(self) -> list[Component]:
        """Every component that an answer or a refusal changes."""
        steps = self.steps.outputs if self.steps else []
        read = self.reader.subject if self.task.kinds else []
        own: list[Any] = [each for each in (self.kept, self.fold) if each and each not in read]
        notices = [*self.notices.values(), self.notice]
        return [self.answer, *self.below, *steps, self._header, *read, *own, *notices, self.picker]

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
        """Wire the button, Enter in a text field and the examples to run the model, and wire the other controls."""
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

    def follow(self, event: Dependency) -> Dependency:
        """Make the reader, if there is one, show the attention of `event`'s run; returns the last event."""
        return self.reader.follow(event) if self.task.kinds else event

    def run(
        self, progress: gr.Progress = PROGRESS, session_id: str = "", checkpoint: str = "", *values: Any
    ) -> Updates:
        """Run the task and return the updates of its answer or its error; `values` are the fields', in their order."""
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
        """Like `run`, for a task that can be stopped: yields the updates of an answer as it grows, where it can."""
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
        """The answer so far, as HTML, of a run that is still growing; empty once it is finished."""
        return growing_answer(run)

    def _asked(self, chosen: str) -> str:
        """The chosen checkpoint; empty for a task with only one, as the tab's picker is about another task then."""
        return chosen if len(checkpoints_for(self.task)) > 1 else ""

    def session_of(self, session_id: str) -> str:
        """The id of the browser's session, or of a new one if the visitor was quicker than the page's first event."""
        return session_id or self.service.new_session()

    def show(self, finished: Finished) -> Updates:
        """The updates that show a run's answer and header, turn the reader to it, open a fold and clear messages."""
        return {
            self.answer: self.draw(finished.run, finished.output, 0),
            **{component: draw(finished) for component, draw in self.below.items()},
            **(self.steps.show(finished) if self.steps else {}),
            self._header: run_header(finished.run, finished.output, kept=self.service.is_kept(finished.run)),
            self.kept: finished,
            **(self.reader.turn_to(finished) if self.task.kinds else {}),
            **({self.fold: gr.update(open=True)} if self.fold else {}),
            **self.clear(),
        }

    def reopen(self, run: Run) -> Updates:
        """The updates that show a logged run: its fields, its checkpoint, and its answer or its error.

        The model picker stays as it is if it does not offer the run's checkpoint.
        """
        kept = self.fill(run.fields)
        if run.checkpoint in (name for _title, name in self.picker.choices or ()):
            kept[self.picker] = run.checkpoint
        try:
            return self.show(self.service.reopen(run)) | kept
        except InputError as error:
            return self.refuse(InputError(run.error or error.sentence)) | kept

    def restore(self, run: Run, place: ReaderSettings) -> Updates:
        """The updates that show a shared run with the reader's settings `place`; the reader does not get its id."""
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
        """The end of an address that opens the run as it is shown, if it is the visitor's own, or else the tab.

        `place` are the values of the reader's controls, if there is a reader.
        """
        try:
            key = self.service.log.share(finished.run.id, session_id)
        except InputError:
            return "?tab=" + TAB_NAMES[self.task]
        settings = Asked(finished, 0, -1, False, *place).place if place else ReaderSettings()
        return f"?{urlencode({KEY: key})}#{settings.as_fragment()}"
