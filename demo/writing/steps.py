"""The steps of a decoder: each token with its alternatives, and the text that is written on from one of these."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, cast

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.events import QUICK, Stops, for_visitors, in_line
from demo.language import _
from demo.log.run import Run
from demo.recorded import recorded
from demo.runs import DemoService, Finished, fork_fields
from demo.widgets import PRESSED, Updates
from demo.widgets.notice import noticed
from demo.writing.table import step_table
from demo.writing.text import chunks, forked_text, generated_of, growing_text
from models.cancellation import only_while
from models.errors import InputError
from models.loading import Progress, silent
from models.outputs.base import TaskOutput
from models.outputs.writing import CompletionOutput
from models.registry import Task
from models.wording import Sentence

DrawAnswer = Callable[[Run, TaskOutput, int], str]
"""Draws an answer as HTML from a run, its output and the chosen step, counted from 1 (0: the last)."""


def growing(
    service: DemoService,
    task: Task,
    session_id: str,
    fields: dict[str, Any],
    checkpoint: str,
    is_wanted: Callable[[], bool],
    progress: Progress = silent,
) -> Generator[Finished]:
    """Yield the run as it grows, until it is not wanted or the iterator is closed; a translation comes whole."""
    if not task.grows:
        with only_while(is_wanted):
            done = service.run(session_id, task, fields, checkpoint, progress)
        yield done
        return
    # Closing the stream is what logs a run that was stopped.
    with closing(cast(Generator[Finished], service.stream(session_id, fields, checkpoint, progress, task))) as stream:
        for each in stream:
            yield each
            if not is_wanted():
                return


def growing_answer(run: Finished) -> str:
    """The text so far, as HTML, of a run that is being written; empty once it is finished."""
    output = run.output
    if not isinstance(output, CompletionOutput) or output.finished:
        return ""
    return growing_text(str(run.run.fields["prompt"]), output.text)


class DecoderSteps:
    """The slider, the table of the chosen step, and the other text that is written on from an alternative token.

    It opens on the last step of the recorded example. `run_id` is the id of the run whose steps are shown, empty for
    the example; `forked` is that of the other text.
    """

    def __init__(self, service: DemoService, task: Task) -> None:
        self.service, self.task = service, task
        example = recorded(task)
        count = len(generated_of(example.output))
        look: dict[str, Any] = {"visible": False, "scale": 0}
        with gr.Column(elem_classes="decoder-steps"):
            gr.HTML(f"<h2>{_('How each token was chosen')}</h2>")
            self.slider = gr.Slider(
                1,
                max(2, count),
                count,
                step=1,
                label=_("Step"),
                info=_("walks through the text token by token; the attention below grows along"),
            )
            table = _table(example.run, example.output, count)
            self.table = gr.HTML(table, js_on_load=PRESSED, label=_("The chosen step"))
            self.other = gr.HTML("", visible=False, label=_("The other text"), elem_classes="parted")
            with gr.Row(elem_classes="history-actions"):
                self.stop = gr.Button(_("Stop here"), variant="stop", min_width=150, **look)
                self.adopt = gr.Button(_("Walk through the new text"), min_width=240, **look)
        self.run_id, self.forked = gr.State(""), gr.State("")

    @property
    def outputs(self) -> list[Component]:
        """Every component that another run changes."""
        return [self.run_id, self.slider, self.table, self.other, self.stop, self.adopt, self.forked]

    def show(self, finished: Finished) -> Updates:
        """The updates that show the last step of a run, and no other text beside it."""
        count = len(generated_of(finished.output))
        return {self.run_id: finished.run.id, **self.go_to(finished, count), **self.part("")}

    def go_to(self, finished: Finished, step: int) -> Updates:
        """The updates that show `step` of a run."""
        count, step = len(generated_of(finished.output)), _within(step, finished.output)
        return {
            self.slider: gr.update(maximum=max(2, count), value=step, visible=count > 1),
            self.table: _table(finished.run, finished.output, step),
        }

    def part(self, text: str, *, writing: bool = False, forked: str = "") -> Updates:
        """The updates that show the other text; `forked` is the id of its run once it is finished."""
        return {
            self.other: gr.update(value=text, visible=bool(text)),
            self.stop: gr.update(visible=writing),
            self.adopt: gr.update(visible=bool(forked)),
            self.forked: forked,
        }

    def connect(
        self,
        session: gr.BrowserState,
        answer: gr.HTML,
        draw: DrawAnswer,
        adopt: Callable[[Finished], Updates],
        adopted: list[Component],
    ) -> tuple[list[Dependency], Dependency]:
        """Wire the events; `adopt` returns the updates of `adopted` that show a run in the tab.

        Returns the events that choose another step, and the one that replaces the tab's run by the other text's.
        """
        stops = Stops()

        def choose(run_id: str, event: gr.EventData) -> Updates:
            run, output = self._seen(run_id)
            step = _within(int(event.step), output)
            return {self.slider: step, self.table: _table(run, output, step)}

        def slide(run_id: str, step: int) -> Updates:
            run, output = self._seen(run_id)
            step = _within(int(step), output)
            return {answer: draw(run, output, step), self.table: _table(run, output, step)}

        def part(session_id: str, run_id: str, event: gr.EventData, request: gr.Request) -> Iterator[Updates]:
            session_id = session_id or self.service.new_session()
            step, latest, is_wanted = int(event.step), None, stops.begins(request)
            yield {session: session_id, **self.part(growing_text("", ""), writing=True)}
            try:
                run, before = self._seen(run_id)
                fields = _forked(run, before, step, int(event.alternative))
                written = growing(self.service, self.task, session_id, fields, run.checkpoint, is_wanted)
                with closing(written):
                    for latest in written:
                        if grown := growing_answer(latest):
                            yield {self.other: grown}
            except InputError as error:
                yield self.part(str(noticed(_(error.sentence))["value"]))
                return
            if latest is not None:
                yield self.part(forked_text(step, before, latest.output, latest.run), forked=latest.run.id)

        def take_over(forked: str) -> Updates:
            return adopt(self.service.reopen(self.service.get(forked)))

        moving: dict[str, Any] = {"trigger_mode": "always_last", **QUICK}
        chosen = answer.select(for_visitors(choose), self.run_id, [self.slider, self.table], **moving)
        slid = self.slider.input(for_visitors(slide), [self.run_id, self.slider], [answer, self.table], **moving)
        self.table.select(
            for_visitors(part),
            [session, self.run_id],
            [session, *self.part("")],
            show_progress_on=self.other,
            **in_line(self.service.settings),
        )
        self.stop.click(stops.stop, **QUICK)
        taken = self.adopt.click(for_visitors(take_over), self.forked, adopted, **QUICK)
        return [chosen, slid], taken

    def _seen(self, run_id: str) -> tuple[Run, TaskOutput]:
        """The run with this id, or the recorded example, and its output; raises `InputError` when it was deleted."""
        if not run_id:
            example = recorded(self.task)
            return example.run, example.output
        run = self.service.get(run_id)
        return run, self.service.output_of(run)


def _forked(run: Run, before: TaskOutput, step: int, place: int) -> dict[str, Any]:
    """The fields of a run that continues from alternative `place` (from 0) at `step`; raises `InputError`."""
    generated = generated_of(before)
    if not 1 <= step <= len(generated) or not 0 <= place < len(generated[step - 1].alternatives):
        raise InputError(Sentence("There is no such token to go on from."))
    return fork_fields(run, before, step, generated[step - 1].alternatives[place].id)


def _within(step: int, output: TaskOutput) -> int:
    return min(max(step, 1), max(1, len(generated_of(output))))


def _table(run: Run, output: TaskOutput, step: int) -> str:
    """The table of `step`; empty for a run that was logged before steps were kept or that wrote nothing."""
    generated = generated_of(output)
    if not generated:
        return ""
    before = str(run.fields.get("prompt", "")) + "".join(chunks(output)[: step - 1])
    return step_table(step, before, generated, run.fields, kept=len(run.fields.get("kept", ())))
