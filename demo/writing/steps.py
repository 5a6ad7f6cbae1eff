"""The steps of a decoder on the page: the table, the fork, and the tree of strategies."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.events import QUICK, Stops, for_visitors, in_line
from demo.log.run import Run
from demo.recorded import recorded
from demo.runs import DemoService, Finished, fork_fields
from demo.widgets import Updates
from demo.widgets.notice import noticed
from demo.writing.table import going_on, step_table
from demo.writing.text import chunks, forked_text, generated_of, growing_text
from models.cancellation import only_while
from models.errors import InputError
from models.outputs import CompletionOutput, TaskOutput
from models.registry import Task

DrawStep = Callable[[Run, TaskOutput, int], str]
"""From a run, its output and the chosen step, counted from 1, to the answer with that step's token marked."""


@dataclass(frozen=True, eq=False)
class DecoderSteps:
    """The slider, the table of the chosen step, and the other text where a visitor let it part.

    `run_id` is whose text is walked through, empty for the recorded example; `forked` that of the other text.
    """

    service: DemoService
    task: Task
    run_id: gr.State
    slider: gr.Slider
    table: gr.HTML
    other: gr.HTML
    stop: gr.Button
    adopt: gr.Button
    forked: gr.State

    @property
    def outputs(self) -> list[Component]:
        """Every component that another run changes."""
        return [self.run_id, self.slider, self.table, *self.parting]

    @property
    def parting(self) -> list[Component]:
        """Every component that going on from another token changes."""
        return [self.other, self.stop, self.adopt, self.forked]

    def show(self, finished: Finished) -> Updates:
        """The updates that show the last step of a run, and no other text beside it."""
        count = len(generated_of(finished.output))
        return {
            self.run_id: finished.run.id,
            self.slider: _slider(count),
            self.table: _table(finished.run, finished.output, count),
            **self.part("", writing=False),
        }

    def go_to(self, finished: Finished, step: int) -> Updates:
        """The updates that show `step` of a run that is shown already."""
        step = _within(step, finished.output)
        slider = _slider(len(generated_of(finished.output))) | {"value": step}
        return {self.slider: slider, self.table: _table(finished.run, finished.output, step)}

    def part(self, text: str, *, writing: bool, forked: str = "") -> Updates:
        """The updates that show the other text; `forked` is its run once it is finished."""
        return {
            self.other: gr.update(value=text, visible=bool(text)),
            self.stop: gr.update(visible=writing),
            self.adopt: gr.update(visible=bool(forked)),
            self.forked: forked,
        }

    def seen(self, run_id: str) -> tuple[Run, TaskOutput]:
        """The run with this id and its output; raises `InputError` when it was deleted."""
        if not run_id:
            example = recorded(self.task)
            return example.run, example.output
        run = self.service.get(run_id)
        return run, self.service.output_of(run)

    def fork(
        self, session_id: str, run_id: str, step: int, place: int, is_wanted: Callable[[], bool]
    ) -> Generator[Finished]:
        """The run that goes on from alternative `place` at `step`, as it grows while it `is_wanted`.

        Closing the iterator stops it too.
        """
        run, before = self.seen(run_id)
        generated = generated_of(before)
        if not 1 <= step <= len(generated) or not 0 <= place < len(generated[step - 1].alternatives):
            raise InputError("There is no such token to go on from.")
        fields = fork_fields(run, before, step, generated[step - 1].alternatives[place].id)
        if self.task is not Task.COMPLETION:
            with only_while(is_wanted):
                done = self.service.run(session_id, self.task, fields, run.checkpoint)
            yield done
            return
        # Closing the stream is what logs a run that was stopped.
        with closing(cast(Generator[Finished], self.service.stream(session_id, fields, run.checkpoint))) as stream:
            for each in stream:
                yield each
                if not is_wanted():
                    return

    def connect(
        self,
        session: gr.BrowserState,
        answer: gr.HTML,
        draw: DrawStep,
        adopt: Callable[[Finished], Updates],
        adopted: list[Component],
    ) -> tuple[list[Dependency], Dependency]:
        """Wire the events; `adopt` shows a run in the tab, by changing `adopted`.

        Returns the events that choose another step, and the one that takes the other text over.
        """

        def choose(run_id: str, event: gr.EventData) -> Updates:
            run, output = self.seen(run_id)
            step = _within(int(event.step), output)
            return {self.slider: step, self.table: _table(run, output, step)}

        def slide(run_id: str, step: int) -> Updates:
            run, output = self.seen(run_id)
            step = _within(int(step), output)
            return {answer: draw(run, output, step), self.table: _table(run, output, step)}

        stops = Stops()

        def part(session_id: str, run_id: str, event: gr.EventData, request: gr.Request) -> Iterator[Updates]:
            session_id = session_id or self.service.new_session()
            step, latest, is_wanted = int(event.step), None, stops.begins(request)
            yield {session: session_id, **self.part(growing_text("", ""), writing=True)}
            try:
                with closing(self.fork(session_id, run_id, step, int(event.alternative), is_wanted)) as growing:
                    for latest in growing:
                        if isinstance(latest.output, CompletionOutput) and not latest.output.finished:
                            text = growing_text(str(latest.run.fields["prompt"]), latest.output.text)
                            yield {self.other: text}
                _, before = self.seen(run_id)
            except InputError as error:
                yield self.part(str(noticed(error.sentence)["value"]), writing=False)
                return
            if latest is not None:
                shown = forked_text(step, before, latest.output, latest.run)
                yield self.part(shown, writing=False, forked=latest.run.id)

        def take_over(forked: str) -> Updates:
            return adopt(self.service.reopen(self.service.get(forked)))

        chosen = answer.select(
            for_visitors(choose), self.run_id, [self.slider, self.table], trigger_mode="always_last", **QUICK
        )
        slid = self.slider.input(
            for_visitors(slide), [self.run_id, self.slider], [answer, self.table], trigger_mode="always_last", **QUICK
        )
        self.table.select(
            for_visitors(part),
            [session, self.run_id],
            [session, *self.parting],
            show_progress_on=self.other,
            **in_line(self.service.settings),
        )
        self.stop.click(stops.stop, **QUICK)
        taken = self.adopt.click(for_visitors(take_over), self.forked, adopted, **QUICK)
        return [chosen, slid], taken


def create_decoder_steps(service: DemoService, task: Task) -> DecoderSteps:
    """The walk, at the last step of the recorded example of `task`."""
    example = recorded(task)
    count = len(generated_of(example.output))
    with gr.Column(elem_classes="decoder-steps"):
        gr.HTML("<h2>How each token was chosen</h2>")
        slider = gr.Slider(
            1,
            max(2, count),
            count,
            step=1,
            label="Step",
            info="walks through the text token by token; the attention below grows along",
        )
        table = gr.HTML(_table(example.run, example.output, count), js_on_load=going_on(), label="The chosen step")
        other = gr.HTML("", visible=False, label="The other text", elem_classes="parted")
        with gr.Row(elem_classes="history-actions"):
            stop = gr.Button("Stop here", variant="stop", visible=False, scale=0, min_width=150)
            adopt = gr.Button("Walk through the new text", visible=False, scale=0, min_width=240)
    return DecoderSteps(service, task, gr.State(""), slider, table, other, stop, adopt, gr.State(""))


def _slider(count: int) -> dict[str, Any]:
    return gr.update(maximum=max(2, count), value=max(1, count), visible=count > 1)


def _within(step: int, output: TaskOutput) -> int:
    return min(max(step, 1), max(1, len(generated_of(output))))


def _table(run: Run, output: TaskOutput, step: int) -> str:
    """The table of `step`, nothing for a run that was logged before its steps were kept or that wrote nothing."""
    generated = generated_of(output)
    if not generated:
        return ""
    before = str(run.fields.get("prompt", "")) + "".join(chunks(output)[: step - 1])
    return step_table(step, before, generated, run.fields, kept=len(run.fields.get("kept", ())))
