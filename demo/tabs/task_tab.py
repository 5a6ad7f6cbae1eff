"""The shape that the five task tabs share: input with examples, answer, attention, in this order."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.attempt import Finished
from demo.attention import AttentionSource
from demo.components import Updates
from demo.components.attention_reader import AttentionReader, create_attention_reader
from demo.components.checkpoint_picker import CheckpointPicker, create_checkpoint_picker
from demo.components.decoder_steps import DecoderSteps, DrawStep
from demo.components.notice import create_notice, noticed
from demo.components.run_header import run_header
from demo.messages import for_visitors
from demo.recorded import examples_of, recorded
from demo.service import DemoService
from demo.sessions.records import Run
from demo.settings import MODEL_QUEUE
from demo.share import Place
from demo.wanted import Stops
from models.errors import InputError
from models.loading import Progress
from models.outputs import TaskOutput
from models.tasks import Task

Draw = Callable[[Mapping[str, Any], TaskOutput], Updates]
"""From the fields of a run and its output to the updates that show the answer."""

PROGRESS = gr.Progress()
"""As a handler's default, this is how Gradio learns that the handler reports progress."""


@dataclass(frozen=True, eq=False)
class RunRow:
    """The model picker, the button, and the place for a sentence that is about no field in particular.

    While a run that can be stopped goes on, `stop` takes the place of `run`.
    """

    picker: CheckpointPicker
    run: gr.Button
    stop: gr.Button
    notice: gr.HTML

    def button(self, *, writing: bool) -> Updates:
        """Stop while the model writes, and the button that starts it while it does not."""
        return {self.run: gr.update(visible=not writing), self.stop: gr.update(visible=writing)}


def create_run_row(task: Task, fields: Mapping[str, Component], button: str) -> RunRow:
    """The examples of `task`, then its picker and its button."""
    examples = examples_of(task)
    used = [component for name, component in fields.items() if name in examples[0].fields]
    gr.Examples(
        [[example.fields[name] for name in fields if name in example.fields] for example in examples],
        used,
        example_labels=[example.label for example in examples],
        label="Examples",
        api_visibility="private",
    )
    with gr.Row(elem_classes="run-row", equal_height=False):
        picker = create_checkpoint_picker(task)
        run = gr.Button(button, variant="primary", scale=0, min_width=140, elem_classes="run-button")
        stop = gr.Button("Stop", variant="stop", scale=0, min_width=140, elem_classes="run-button", visible=False)
    return RunRow(picker, run, stop, create_notice())


def create_header(task: Task) -> gr.HTML:
    """The line that says what made the answer, on the recorded example."""
    return gr.HTML(run_header(recorded(task).run, recorded=True))


def create_reader(service: DemoService, task: Task) -> AttentionReader:
    """The attention reader, on the recorded example."""
    return create_attention_reader(service, recorded(task))


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
    row: RunRow
    answer: tuple[Component, ...]
    header: gr.HTML
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
        return [*self.reopened_outputs, self.reader.shown, *self.reader.controls.inputs]

    @property
    def inputs(self) -> list[Component]:
        """The chosen checkpoint, then the fields in the order of the handler's parameters."""
        return [self.row.picker.dropdown, *self.fields.values()]

    def connect(
        self,
        triggers: list[Callable[..., Any]],
        handler: Callable[..., Any],
        stops: Stops | None = None,
    ) -> None:
        """Let `triggers` run `handler`, in the queue of the models; with `stops` its visitor can stop it."""
        buttons = [self.row.run, self.row.stop] if stops else []
        event = gr.on(
            [self.row.run.click, *triggers],
            for_visitors(handler),
            [self.session, *self.inputs],
            [self.session, *self.outputs, *buttons],
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=self.service.settings.concurrency,
            show_progress_on=self.answer[0],
            api_visibility="private",
        )
        if stops:
            self.row.stop.click(stops.stop, queue=False, show_progress="hidden", api_visibility="private")
        self.reader.follow(event)
        self.reader.compare(self._drawn)
        self.reader.take_away(self.session)

    def walk(self, steps: DecoderSteps, answer: gr.HTML, draw: DrawStep) -> None:
        """Let visitors walk through the steps of `answer`, the attention with them, and take over a text that parts."""
        chosen, taken = steps.connect(self.session, answer, draw, self.show, self.outputs)
        for event in chosen:
            self.reader.walk(steps.slider, event)
        self.reader.follow(taken)

    def run(self, session_id: str, checkpoint: str, fields: dict[str, Any], progress: gr.Progress) -> Updates:
        """Answer what the visitor typed, or say what to mend."""
        session_id = self.session_of(session_id)
        try:
            updates = self.show(self.service.run(session_id, self.task, fields, checkpoint, told(progress)))
        except InputError as error:
            updates = self.refuse(error)
        return updates | {self.session: session_id}

    def session_of(self, session_id: str) -> str:
        """The browser's session, or a new one for a visitor who was quicker than the page's first event."""
        return session_id or self.service.new_session()

    def show(self, finished: Finished) -> Updates:
        """The answer and its header; the reader then follows the new attention source."""
        return {
            **self.draw(finished.run.fields, finished.output),
            **(self.steps.show(finished) if self.steps else {}),
            self.header: run_header(finished.run, kept=self.service.is_kept(finished.run)),
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

    def restore(self, run: Run, place: Place) -> Updates:
        """A run that somebody shared, as it was and where it was looked at; its owner's alone stays its id."""
        updates = self.reopen(run)
        if run.answer is None:
            return updates
        finished = self.service.reopen(run)
        updates |= self.reader.turn_to(finished, own=False)
        updates |= self.reader.turn_to_place(place, len(finished.source.written))
        if self.steps and self.draw_step and place.step:
            updates |= self.steps.go_to(finished, place.step)
            updates[self.answer[0]] = self.draw_step(run, finished.output, place.step)
        return updates

    def _drawn(self, source: AttentionSource, output: TaskOutput) -> str:
        """The answer as this tab draws it, for a comparison."""
        value = self.draw(dict(source.inputs), output)[self.answer[0]]
        return str(value["value"] if isinstance(value, dict) else value)

    @property
    def _all_notices(self) -> list[gr.HTML]:
        return [*self.notices.values(), self.row.notice]


def told(progress: gr.Progress) -> Progress:
    """Gradio's progress bar as the models tell it."""

    def tell(fraction: float, message: str) -> None:
        progress(fraction, desc=message)

    return tell


def lead(text: str) -> gr.HTML:
    """What a tab does, in a sentence or two under its name."""
    return gr.HTML(f'<p class="lead">{text}</p>')


def quiet(text: str) -> str:
    """A side remark, as text."""
    return f'<p class="quiet">{html.escape(text)}</p>'
