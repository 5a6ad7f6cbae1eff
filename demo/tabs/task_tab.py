"""The shape that the five task tabs share: what is asked on the left, the answer and its attention on the right."""

import html
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, Stops, for_visitors, in_line
from demo.limits import FIELDS
from demo.log.run import Run
from demo.reader.reader import AttentionReader
from demo.recorded import examples_of, recorded
from demo.runs import DemoService, Finished
from demo.sharing import KEY, ReaderSettings
from demo.widgets import Updates
from demo.widgets.notice import create_notice, noticed
from demo.widgets.picker import CheckpointPicker
from demo.widgets.runs import run_header
from demo.writing.steps import DecoderSteps, DrawStep
from models.errors import InputError
from models.loading import Progress
from models.outputs import TaskOutput
from models.registry import Task

Draw = Callable[[Mapping[str, Any], TaskOutput], Updates]
"""From the fields of a run and its output to the updates that show the answer."""

SHOW_ANSWER = "() => window.clearhead.showAnswer()"
"""Run in the page when an answer is there: brings it into view and tells screen readers what it says."""

COPY_LINK = "(address) => window.clearhead.copyLink(address)"
"""Run in the page: copies the whole address that ends like this."""

TAB_NAMES = {
    Task.FILL_MASK: "fill-mask",
    Task.SENTIMENT: "sentiment",
    Task.QUESTION_ANSWERING: "questions",
    Task.TRANSLATION: "translate",
    Task.COMPLETION: "write-on",
}
"""How addresses name the tabs: `?tab=sentiment`. The id of a tab's element is `tab-` and this."""

PROGRESS = gr.Progress()
"""As a handler's default, this is how Gradio learns that the handler reports progress; it fills in the default."""


@dataclass(frozen=True, eq=False)
class RunControls:
    """The button, the examples, the model picker, and the place for a sentence that is about no field in particular.

    While a run that can be stopped goes on, `stop` takes the place of `run`.
    """

    picker: CheckpointPicker
    run: gr.Button
    stop: gr.Button
    examples: gr.Dataset
    notice: gr.HTML

    def button(self, *, writing: bool) -> Updates:
        """Stop while the model writes, and the button that starts it while it does not."""
        return {self.run: gr.update(visible=not writing), self.stop: gr.update(visible=writing)}


@contextmanager
def two_columns() -> Iterator[None]:
    """Holds a tab's `left_column`, then its `result`: side by side on a wide screen, else one below the other."""
    with gr.Row(elem_classes="task", equal_height=False):
        yield


@contextmanager
def left_column() -> Iterator[None]:
    """Holds what is asked and how it is read. On a narrow screen the settings stand below the answer."""
    with gr.Column(elem_classes="left"):
        yield


@contextmanager
def asking() -> Iterator[None]:
    """Holds the fields for the visitor's own words, the button and the examples."""
    with gr.Column(elem_classes="ask"):
        yield


@contextmanager
def settings(about: str) -> Iterator[None]:
    """Holds the settings and the model picker, folded away; `about` says below them what the tab shows."""
    with gr.Column(elem_classes="beside"):
        with gr.Accordion("Settings and model", open=False, elem_classes="fold settings"):
            yield
        gr.HTML(f'<p class="lead">{about}</p>', label="About this tab")


@contextmanager
def result() -> Iterator[None]:
    """Holds the answer and everything that explains it."""
    with gr.Column(elem_classes="result"):
        yield


def visitor_text(value: str, label: str = "Your text", max_lines: int = 8, **more: Any) -> gr.Textbox:
    """A field for words of the visitor's own, which grows with them up to `max_lines`."""
    return gr.Textbox(value, label=label, max_lines=max_lines, elem_classes="visitor-text", **more)


def setting(task: Task, name: str, value: float, **more: Any) -> gr.Slider:
    """The slider of a field of `task`, at `value`."""
    slider = FIELDS[task][name].slider
    assert slider is not None  # noqa: S101
    info = slider.meaning or None
    return gr.Slider(slider.least, slider.most, value, step=slider.step, label=slider.title, info=info, **more)


@contextmanager
def task_page(task: Task, title: str) -> Iterator[None]:
    """Holds the columns of a task's tab."""
    with gr.Tab(title, id=task.value, elem_id=f"tab-{TAB_NAMES[task]}"), two_columns():
        yield


def create_buttons(
    task: Task, button: str, hint: str, sample: Component
) -> tuple[gr.Button, gr.Button, gr.Dataset, gr.HTML]:
    """Create a line of help, the buttons to run and to stop, the place of a sentence, and the examples."""
    gr.HTML(f'<p class="quiet hint">{hint}</p>', label="What to do")
    with gr.Row(elem_classes="run-row"):
        run = gr.Button(button, variant="primary", scale=0, min_width=140, elem_classes="run-button")
        stop = gr.Button("Stop", variant="stop", scale=0, min_width=140, elem_classes="run-button", visible=False)
    notice = create_notice()
    offered = examples_of(task)
    examples = gr.Dataset(
        components=[sample],
        samples=[[example.label] for example in offered],
        sample_labels=[example.label for example in offered],
        type="index",
        label="Examples",
        elem_classes="examples",
    )
    return run, stop, examples, notice


@dataclass(frozen=True, eq=False)
class CopyLink:
    """The button that copies a link, and the end of the address that it copies."""

    button: gr.Button
    address: gr.Textbox


def create_header(task: Task) -> tuple[gr.HTML, CopyLink]:
    """The line that says what made the answer, on the recorded example, and the button that copies a link to it."""
    example = recorded(task)
    with gr.Row(elem_classes="header-row"):
        line = gr.HTML(run_header(example.run, example.output, recorded=True), elem_classes="header-line")
        button = gr.Button("Copy link", size="sm", scale=0, min_width=96, elem_classes="copy-link")
        return line, CopyLink(button, gr.Textbox("", visible="hidden", label="Link to copy"))


@dataclass(frozen=True, eq=False)
class TaskTab:
    """A task's tab as handlers see it; `notices` has a place for a sentence beside each field that may need one.

    `steps` walks through what a decoder wrote, in the tabs that have one, and `draw_step` draws the answer for it.
    """

    task: Task
    service: DemoService
    session: gr.BrowserState
    fields: Mapping[str, Component]
    notices: Mapping[str, gr.HTML]
    row: RunControls
    answer: tuple[Component, ...]
    header: gr.HTML
    copy_link: CopyLink
    reader: AttentionReader
    draw: Draw
    steps: DecoderSteps | None = None
    draw_step: DrawStep | None = None

    @property
    def outputs(self) -> list[Component]:
        """Every component that an answer or a refusal changes."""
        steps = self.steps.outputs if self.steps else []
        subject = [*steps, self.header, *self.reader.subject]
        return [*self.answer, *subject, *self._all_notices, self.row.picker.dropdown]

    @property
    def reopened_outputs(self) -> list[Component]:
        """Every component that reopening a run changes."""
        return [*self.outputs, *self.fields.values()]

    @property
    def restored_outputs(self) -> list[Component]:
        """Every component that opening a shared run at its place changes."""
        return [*self.reopened_outputs, self.reader.shown, self.reader.chosen, *self.reader.controls.inputs]

    @property
    def inputs(self) -> list[Component]:
        """The chosen checkpoint, then the fields in the order of the handler's parameters."""
        return [self.row.picker.dropdown, *self.fields.values()]

    def connect(
        self,
        triggers: list[Callable[..., Any]],
        handler: Callable[..., Any] | None = None,
        stops: Stops | None = None,
    ) -> None:
        """Let `triggers` run `handler`, or `run`, in the line of the models; with `stops` its visitor can stop it."""
        buttons = [self.row.run, self.row.stop] if stops else []
        running: dict[str, Any] = {
            "fn": for_visitors(handler or self.run),
            "inputs": [self.session, *self.inputs],
            "outputs": [self.session, *self.outputs, *buttons],
            "show_progress_on": self.answer[0],
            **in_line(self.service.settings),
        }
        tried = self.row.examples.click(
            self.example, self.row.examples, list(self.fields.values()), **QUICK
        )  # fmt: skip
        for event in (gr.on([self.row.run.click, *triggers], **running), tried.then(**running)):
            self.reader.follow(event)
            event.then(None, None, None, js=SHOW_ANSWER)
        if stops:
            self.row.stop.click(stops.stop, **QUICK)
        self._connect_link()

    def walk(self, steps: DecoderSteps, answer: gr.HTML, draw: DrawStep) -> None:
        """Let visitors walk through the steps of `answer`, the attention with them, and take over a text that parts."""
        chosen, taken = steps.connect(self.session, answer, draw, self.show, self.outputs)
        for event in chosen:
            self.reader.walk(steps.slider, event)
        self.reader.follow(taken)

    def run(
        self, progress: gr.Progress = PROGRESS, session_id: str = "", checkpoint: str = "", *values: Any
    ) -> Updates:
        """Answer what the visitor typed, or say what to mend; `values` are those of the fields, in their order."""
        session_id, fields = self.session_of(session_id), dict(zip(self.fields, values, strict=True))
        try:
            updates = self.show(self.service.run(session_id, self.task, fields, checkpoint, told(progress)))
        except InputError as error:
            updates = self.refuse(error)
        return updates | {self.session: session_id}

    def example(self, number: int) -> Updates:
        """The fields of an example; a text that it leaves out is empty, and a setting is as the page opened with it."""
        given = examples_of(self.task)[number].fields
        known = FIELDS[self.task]
        return {
            field: given.get(name, "" if known[name].is_text else field.value) for name, field in self.fields.items()
        }

    def session_of(self, session_id: str) -> str:
        """The browser's session, or a new one for a visitor who was quicker than the page's first event."""
        return session_id or self.service.new_session()

    def show(self, finished: Finished) -> Updates:
        """The answer and its header; the reader then follows the new attention source."""
        return {
            **self.draw(finished.run.fields, finished.output),
            **(self.steps.show(finished) if self.steps else {}),
            self.header: run_header(finished.run, finished.output, kept=self.service.is_kept(finished.run)),
            **self.reader.turn_to(finished),
            **self.clear(),
        }

    def refuse(self, error: InputError) -> Updates:
        """The sentence beside its field; a checkpoint that cannot be had gives way to the bundled one."""
        updates = self.clear()
        updates[self.notices.get(error.field, self.row.notice)] = noticed(error.sentence)
        if error.field == "checkpoint":
            updates[self.row.picker.dropdown] = self.row.picker.bundled
        return updates

    def clear(self) -> Updates:
        """No sentence anywhere."""
        return {notice: noticed("") for notice in self._all_notices}

    def reopen(self, run: Run) -> Updates:
        """A logged run as it was: its fields, its checkpoint, and its answer or the sentence it ended with."""
        kept: Updates = {self.fields[name]: value for name, value in run.fields.items() if name in self.fields}
        kept[self.row.picker.dropdown] = run.checkpoint
        try:
            return self.show(self.service.reopen(run)) | kept
        except InputError as error:
            return self.refuse(InputError(run.error or error.sentence)) | kept

    def restore(self, run: Run, place: ReaderSettings) -> Updates:
        """A run that somebody shared, as it was and where it was looked at; its owner's alone stays its id."""
        updates = self.reopen(run)
        if run.answer is None:
            return updates
        finished = self.service.reopen(run)
        updates |= self.reader.turn_to(finished, own=False)
        updates |= self.reader.turn_to_place(place)
        if self.steps and self.draw_step and place.step:
            updates |= self.steps.go_to(finished, place.step)
            updates[self.answer[0]] = self.draw_step(run, finished.output, place.step)
        return updates

    def _connect_link(self) -> None:
        """Let the button copy a link: to the run as it is shown where it is the visitor's own, else to the tab."""

        def link(
            session_id: str, finished: Finished, kind: str, how: str, layer: int, head: int, words: bool, damped: bool
        ) -> str:
            try:
                key = self.service.sharing.share(finished.run.id, session_id)
            except InputError:
                return "?tab=" + TAB_NAMES[self.task]
            place = ReaderSettings(kind, how, 0 if how == "rollout" else int(layer), int(head), words, not damped)
            return f"?{urlencode({KEY: key})}#{place.as_fragment()}"

        asked = [self.session, self.reader.finished, *self.reader.controls.inputs]
        address = self.copy_link.address
        self.copy_link.button.click(for_visitors(link), asked, address, **QUICK).success(
            None, address, None, js=COPY_LINK
        )

    @property
    def _all_notices(self) -> list[gr.HTML]:
        return [*self.notices.values(), self.row.notice]


def told(progress: gr.Progress) -> Progress:
    """Gradio's progress bar as the models tell it."""

    def tell(fraction: float, message: str) -> None:
        progress(fraction, desc=message)

    return tell


def lead(text: str) -> gr.HTML:
    """Create a sentence or two on what a tab does."""
    return gr.HTML(f'<p class="lead">{text}</p>')


def quiet(text: str) -> str:
    """A side remark, as text."""
    return f'<p class="quiet">{html.escape(text)}</p>'
