"""Write on: a text that grows token by token, with a causal language model."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, Stops, for_visitors, in_line
from demo.log.run import Run
from demo.reader.reader import AttentionReader
from demo.recorded import recorded
from demo.runs import DemoService, Finished
from demo.tabs import task_tab as shape
from demo.tabs.task_tab import PROGRESS, RunControls, TaskTab
from demo.widgets import Updates
from demo.widgets.notice import create_notice
from demo.widgets.picker import create_checkpoint_picker
from demo.writing.more_texts import another, create_few_shot_note, create_more_texts, next_seed, seeds_from, three
from demo.writing.steps import create_decoder_steps
from demo.writing.text import choosing, decided_strip, growing_text, written_text
from demo.writing.tree import create_strategy_tree
from models.errors import InputError
from models.outputs import CompletionOutput, TaskOutput
from models.registry import Task

_TASK = Task.COMPLETION
_LEAD = (
    "GPT-2 writes one token after another (a word or a piece of one); each time it gives every token it knows a "
    "probability, and one is chosen. An empty beginning is allowed."
)
_STRATEGIES = [
    ("Sampling: draw the next token by chance", "sample"),
    ("Greedy: always take the likeliest token", "greedy"),
    ("Beam search: keep several drafts, take the likeliest", "beam"),
]

_HINT = (
    "Begin a text, or leave it empty. <span class='keys'>Enter goes on with it; Shift+Enter starts a new line.</span>"
)


def create_completion_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    example = recorded(_TASK)
    given = example.run.fields
    with shape.task_page(_TASK, "Write on"):
        with shape.left_column():
            with shape.asking():
                prompt = shape.visitor_text(
                    given["prompt"],
                    "The beginning of your text",
                    placeholder="Leave it empty and the model begins by itself.",
                )
                prompt_notice = create_notice()
                buttons = shape.create_buttons(_TASK, "Write on", _HINT, prompt)
            with shape.settings(_LEAD):
                strategy = gr.Radio(_STRATEGIES, value=given["strategy"], label="How the next token is chosen")
                length, beams, temperature, top_k, top_p = (
                    shape.setting(_TASK, name, given[name], visible=name != "num_beams")
                    for name in ("max_new_tokens", "num_beams", "temperature", "top_k", "top_p")
                )
                seed = gr.Number(given["seed"], label="Seed", info="same seed, same text", precision=0, minimum=0)
                loop_guard = shape.setting(_TASK, "loop_guard", given["loop_guard"])
                picker = create_checkpoint_picker(_TASK)
                create_few_shot_note(picker)
        with shape.result():
            answer = gr.HTML(
                draw_answer(given["prompt"], example.output),
                js_on_load=choosing(),
                elem_classes="answer",
                label="The text so far",
            )
            more = create_more_texts()
            decided = gr.HTML(decided_strip(example.output, example.decided), label="Decided in which layer")
            header, copy_link = shape.create_header(_TASK)
            reader = AttentionReader(service, session, example, decided)
            steps = create_decoder_steps(service, _TASK)
            tree = create_strategy_tree(service)
        # In the order of the handler's parameters.
        fields: dict[str, Component] = {
            "prompt": prompt,
            "max_new_tokens": length,
            "strategy": strategy,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "num_beams": beams,
            "seed": seed,
            "loop_guard": loop_guard,
        }
        row = RunControls(picker, *buttons)

    def draw(fields: Mapping[str, Any], output: TaskOutput) -> Updates:
        return {answer: draw_answer(str(fields["prompt"]), output), **more.show("")}

    def draw_step(run: Run, output: TaskOutput, step: int) -> str:
        return draw_answer(str(run.fields["prompt"]), output, step)

    notices = {"prompt": prompt_notice}
    tab = TaskTab(
        _TASK,
        service,
        session,
        fields,
        notices,
        row,
        (answer, more.beside),
        header,
        copy_link,
        reader,
        draw,
        steps,
        draw_step,
    )
    stops = Stops()

    def run(
        request: gr.Request, progress: gr.Progress = PROGRESS, session_id: str = "", checkpoint: str = "", *values: Any
    ) -> Iterator[Updates]:
        yield from write(session_id, checkpoint, dict(zip(fields, values, strict=True)), request, progress)

    def write(
        session_id: str, checkpoint: str, fields: dict[str, Any], request: gr.Request, progress: gr.Progress
    ) -> Iterator[Updates]:
        is_wanted, latest = stops.begins(request), None
        session_id = tab.session_of(session_id)
        resting: Updates = {**row.button(writing=False), session: session_id}
        try:
            # Closing the stream is what logs a run that was stopped.
            stream = cast(Generator[Finished], service.stream(session_id, fields, checkpoint, shape.told(progress)))
            with closing(stream):
                for latest in stream:
                    if not is_wanted():
                        break
                    if not _typed(latest.output).finished:
                        growing = draw_growing(str(latest.run.fields["prompt"]), latest.output)
                        yield {answer: growing, **row.button(writing=True)}
        except InputError as error:
            yield tab.refuse(error) | resting
            return
        yield (tab.show(latest) if latest else {}) | resting

    def write_another(
        request: gr.Request, session_id: str, before: Finished, checkpoint: str, *values: Any
    ) -> Iterator[Updates]:
        given = next_seed(dict(zip(fields, values, strict=True)))
        for updates in write(session_id, checkpoint, given, request, PROGRESS):
            if after := updates.get(reader.finished):
                updates |= more.show(another(before, after))
            yield {seed: given["seed"], **updates}

    def write_three(session_id: str, checkpoint: str, *values: Any) -> Updates:
        session_id, given = tab.session_of(session_id), dict(zip(fields, values, strict=True))
        try:
            runs = [service.run(session_id, _TASK, each, checkpoint) for each in seeds_from(given)]
        except InputError as error:
            return {session: session_id, **tab.refuse(error)}
        return {session: session_id, **tab.clear(), **more.show(three(runs))}

    sampled = (temperature, top_k, top_p, seed, loop_guard)

    def settings_of(strategy: str) -> Updates:
        samples = strategy == "sample"
        return {
            **{each: gr.update(visible=samples) for each in sampled},
            beams: gr.update(visible=strategy == "beam"),
            more.row: gr.update(visible=samples),
        }

    tab.connect([prompt.submit], run, stops)
    tab.walk(steps, answer, draw_step)
    reader.follow(
        more.another.click(
            for_visitors(write_another),
            [session, reader.finished, *tab.inputs],
            [session, seed, *tab.outputs, row.run, row.stop],
            show_progress_on=answer,
            **in_line(service.settings),
        )
    )
    more.three.click(
        for_visitors(write_three),
        [session, *tab.inputs],
        list(dict.fromkeys([session, more.beside, *tab.notices.values(), row.notice, row.picker.dropdown])),
        show_progress_on=more.beside,
        **in_line(service.settings),
    )
    tree.connect(row.picker.dropdown, fields)
    strategy.change(settings_of, strategy, [*sampled, beams, more.row], **QUICK)
    return tab


def draw_growing(prompt: str, output: TaskOutput) -> str:
    """The text while it grows: nothing but the text, so that every token is a small message."""
    return growing_text(prompt, _typed(output).text)


def draw_answer(prompt: str, output: TaskOutput, step: int = 0) -> str:
    """The whole text, each written token to be chosen; `step` counts the chosen one from 1, 0 for the last."""
    output = _typed(output)
    return written_text(prompt, output, step or len(output.generated))


def _typed(output: TaskOutput) -> CompletionOutput:
    assert isinstance(output, CompletionOutput)  # noqa: S101
    return output
