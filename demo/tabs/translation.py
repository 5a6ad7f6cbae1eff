"""Translate: the candidates of beam search, with an encoder-decoder."""

import html
import math
from collections.abc import Iterator, Mapping
from typing import Any

import gradio as gr

from demo.events import Stops
from demo.log.run import Run
from demo.plots.reading import percent
from demo.reader.reader import AttentionReader
from demo.recorded import recorded
from demo.runs import DemoService
from demo.tabs import task_tab as shape
from demo.tabs.task_tab import PROGRESS, RunControls, TaskTab
from demo.widgets import Updates
from demo.widgets.notice import create_notice
from demo.widgets.picker import create_checkpoint_picker
from demo.writing.steps import create_decoder_steps
from demo.writing.text import CHOOSE, choosing, token_group
from models.cancellation import only_while
from models.outputs import TaskOutput, TranslationOutput
from models.registry import Task

_TASK = Task.TRANSLATION
_LEAD = (
    "One half of this model reads English (the <em>encoder</em>), the other writes French (the <em>decoder</em>) and "
    "looks back at the English before every token."
)

_HINT = "Write in English. <span class='keys'>Enter translates; Shift+Enter starts a new line.</span>"


def create_translation_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    example = recorded(_TASK)
    with shape.task_page(_TASK, "Translate"):
        with shape.left_column():
            with shape.asking():
                text = shape.visitor_text(example.run.fields["text"], "Your English text")
                text_notice = create_notice()
                buttons = shape.create_buttons(_TASK, "Translate", _HINT, text)
            with shape.settings(_LEAD):
                beams = shape.setting(_TASK, "num_beams", example.run.fields["num_beams"])
                picker = create_checkpoint_picker(_TASK)
        with shape.result():
            answer = gr.HTML(
                draw_answer(example.output), js_on_load=choosing(), elem_classes="answer", label="Translations"
            )
            header, copy_link = shape.create_header(_TASK)
            reader = AttentionReader(service, session, example)
            steps = create_decoder_steps(service, _TASK)
        fields = {"text": text, "num_beams": beams}
        row = RunControls(picker, *buttons)

    def draw(_fields: Mapping[str, Any], output: TaskOutput) -> Updates:
        return {answer: draw_answer(output)}

    def draw_step(_run: Run, output: TaskOutput, step: int) -> str:
        return draw_answer(output, step)

    notices = {"text": text_notice}
    tab = TaskTab(
        _TASK, service, session, fields, notices, row, (answer,), header, copy_link, reader, draw, steps, draw_step
    )

    stops = Stops()

    def run(
        request: gr.Request, progress: gr.Progress = PROGRESS, session_id: str = "", checkpoint: str = "", *values: Any
    ) -> Iterator[Updates]:
        is_wanted = stops.begins(request)
        yield row.button(writing=True)
        with only_while(is_wanted):
            updates = tab.run(progress, session_id, checkpoint, *values)
        yield updates | row.button(writing=False)

    tab.connect([text.submit], run, stops)
    tab.walk(steps, answer, draw_step)
    return tab


def draw_answer(output: TaskOutput, step: int = 0) -> str:
    """The best translation large, the other candidates below, each with what its score says in words.

    `step` counts the chosen token of the best one from 1, 0 for the last.
    """
    assert isinstance(output, TranslationOutput)  # noqa: S101
    best, *others = output.translations
    rest = "".join(
        f"<li><bdi>{html.escape(each.text)}</bdi> <span class='quiet'>{_per_token(each.score)}</span></li>"
        for each in others
    )
    also = f'<h3>Other drafts it kept</h3><ol class="texts" start="2">{rest}</ol>' if rest else ""
    tokens = html.escape(best.text)
    if output.generated:
        tokens = token_group(output, step or len(output.generated))
    notes = "".join(f"<p class='quiet'>{html.escape(note)}</p>" for note in output.notes)
    return (
        f'<p class="best-text" dir="auto">{tokens}</p>{notes}'
        f"<p class='quiet'>The model gave each token of it {_per_token(best.score)} on average "
        f"(beam search puts the highest average first). {CHOOSE if output.generated else ''}</p>{also}"
    )


def _per_token(score: float) -> str:
    """A mean log-probability as the (geometric) mean probability of a token."""
    return f"{percent(math.exp(min(score, 0.0)))} of the probability"
