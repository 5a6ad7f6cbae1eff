"""Write on: a text that grows token by token, with a causal language model."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, cast

import gradio as gr
from gradio.components import Component

from demo.attempt import Finished
from demo.components import Updates
from demo.components.checkpoint_picker import create_checkpoint_picker
from demo.components.decoder_steps import create_decoder_steps
from demo.components.few_shot import create_few_shot_note
from demo.components.notice import create_notice
from demo.components.strategy_tree import create_strategy_tree
from demo.components.written_text import choosing, growing_text, written_text
from demo.recorded import recorded
from demo.service import DemoService
from demo.sessions.records import Run
from demo.tabs.task_tab import (
    PROGRESS,
    RunRow,
    TaskTab,
    asking,
    create_buttons,
    create_header,
    create_reader,
    left_column,
    result,
    settings,
    told,
    two_columns,
)
from demo.wanted import Stops
from models.errors import InputError
from models.outputs import CompletionOutput, TaskOutput
from models.tasks import Task

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
    with gr.Tab("Write on", id=_TASK.value, elem_id="tab-write-on"):
        with two_columns():
            with left_column():
                with asking():
                    prompt = gr.Textbox(
                        given["prompt"],
                        label="The beginning of your text",
                        max_lines=8,
                        placeholder="Leave it empty and the model begins by itself.",
                        elem_classes="visitor-text",
                    )
                    prompt_notice = create_notice()
                    buttons = create_buttons(_TASK, "Write on", _HINT, prompt)
                with settings(_LEAD):
                    strategy = gr.Radio(_STRATEGIES, value=given["strategy"], label="How the next token is chosen")
                    length = gr.Slider(1, 200, given["max_new_tokens"], step=1, label="Tokens to write")
                    beams = gr.Slider(
                        1, 8, given["num_beams"], step=1, label="Beams", info="drafts kept side by side", visible=False
                    )
                    temperature = gr.Slider(
                        0.05,
                        2,
                        given["temperature"],
                        step=0.05,
                        label="Temperature",
                        info="low: safe, high: surprising",
                    )
                    top_k = gr.Slider(
                        0, 200, given["top_k"], step=1, label="Top-k", info="draw among the k likeliest; 0: all"
                    )
                    top_p = gr.Slider(
                        0.01, 1, given["top_p"], step=0.01, label="Top-p", info="the likeliest that share p"
                    )
                    seed = gr.Number(given["seed"], label="Seed", info="same seed, same text", precision=0, minimum=0)
                    loop_guard = gr.Slider(
                        0,
                        8,
                        given["loop_guard"],
                        step=1,
                        label="Loop guard",
                        info="so many tokens in a row come at most twice; 0: off",
                    )
                    picker = create_checkpoint_picker(_TASK)
                    create_few_shot_note(picker)
            with result():
                answer = gr.HTML(
                    draw_answer(given["prompt"], example.output),
                    js_on_load=choosing(),
                    elem_classes="answer",
                    label="The text so far",
                )
                header, copy_link = create_header(_TASK)
                reader = create_reader(service, _TASK)
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
        row = RunRow(picker, *buttons)

    def draw(fields: Mapping[str, Any], output: TaskOutput) -> Updates:
        return {answer: draw_answer(str(fields["prompt"]), output)}

    def draw_step(run: Run, output: TaskOutput, step: int) -> str:
        return draw_answer(str(run.fields["prompt"]), output, step)

    notices = {"prompt": prompt_notice}
    tab = TaskTab(
        _TASK, service, session, fields, notices, row, (answer,), header, copy_link, reader, draw, steps, draw_step
    )
    stops = Stops()

    def run(
        session_id: str,
        checkpoint: str,
        prompt: str,
        max_new_tokens: int,
        strategy: str,
        temperature: float,
        top_k: int,
        top_p: float,
        num_beams: int,
        seed: int,
        loop_guard: int,
        request: gr.Request,
        progress: gr.Progress = PROGRESS,
    ) -> Iterator[Updates]:
        fields = {
            "prompt": prompt,
            "max_new_tokens": max_new_tokens,
            "strategy": strategy,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "num_beams": num_beams,
            "seed": seed,
            "loop_guard": loop_guard,
        }
        is_wanted, latest = stops.begins(request), None
        session_id = tab.session_of(session_id)
        resting: Updates = {**row.button(writing=False), session: session_id}
        try:
            # Closing the stream is what logs a run that was stopped.
            stream = cast(Generator[Finished], service.stream(session_id, fields, checkpoint, told(progress)))
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

    sampled = (temperature, top_k, top_p, seed, loop_guard)

    def settings_of(strategy: str) -> Updates:
        samples = strategy == "sample"
        return {
            **{each: gr.update(visible=samples) for each in sampled},
            beams: gr.update(visible=strategy == "beam"),
        }

    tab.connect([prompt.submit], run, stops)
    tab.walk(steps, answer, draw_step)
    tree.connect(row.picker.dropdown, fields)
    strategy.change(
        settings_of,
        strategy,
        [*sampled, beams],
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
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
