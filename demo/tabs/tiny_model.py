"""A tiny model that learns while you watch: a second form in the tab Training."""

import html
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.events import PROGRESS
from demo.plots.reading import percent
from demo.plots.training import loss_curve
from demo.runs import DemoService, Finished
from demo.tabs.task_tab import TaskTab, left_column, result, two_columns
from demo.tabs.without_attention import WithoutAttention
from demo.widgets import Updates
from demo.widgets.runs import TASK_TITLES
from demo.widgets.tables import fold_out, table
from models.outputs.base import TaskOutput
from models.outputs.training import TinyModelOutput
from models.registry import Task
from models.tasks.tiny_model import LEAST, LONGEST, MOST_S

_LEAD = (
    "A new decoder of two layers, 64 numbers wide, begins with random numbers and foresees each next character of your "
    "text, again and again. A tenth of the text is kept out: what it learned by heart does not help there."
)
_HINT = f"{LEAST} to {LONGEST:,} characters; it learns for {MOST_S:.0f} seconds at most."
_BY_HEART = 0.9
"""From this share of characters foreseen on, a text counts as learned by heart."""


class TinyModelForm(WithoutAttention):
    """The form, whose answer grows while the model learns."""

    def __init__(self, service: DemoService, session: gr.BrowserState, training: TaskTab) -> None:
        super().__init__(service, session, Task.TINY_MODEL, lambda _run, output, _step: draw_learning(output))
        self.tab, self.picker, self.opens = training.tab, training.picker, training.opens

    @contextmanager
    def page(self) -> Iterator[None]:
        """Holds the two columns, in a fold."""
        title = TASK_TITLES[self.task]
        with self.tab, gr.Accordion(title, open=False, elem_classes="tool") as self.fold, two_columns():
            yield

    @property
    def outputs(self) -> list[Component]:
        """See `TaskTab`."""
        return [*super().outputs, self.fold]

    @property
    def grows(self) -> bool:
        """See `TaskTab`."""
        return True

    def write(
        self,
        request: gr.Request,
        progress: gr.Progress = PROGRESS,
        session_id: str = "",
        _checkpoint: str = "",
        *values: Any,
    ) -> Iterator[Updates]:
        """See `TaskTab`; the model is new, whichever the tab has chosen."""
        yield from super().write(request, progress, session_id, "", *values)

    def grown(self, run: Finished) -> str:
        """See `TaskTab`."""
        return "" if run.run.answer else draw_learning(run.output, learning=True)

    def show(self, finished: Finished) -> Updates:
        """See `TaskTab`; the fold opens."""
        return {**super().show(finished), self.fold: gr.update(open=True)}


def create_tiny_model_form(service: DemoService, session: gr.BrowserState, training: TaskTab) -> TaskTab:
    """The form with its events, in the tab `training`."""
    form = TinyModelForm(service, session, training)
    with form.page():
        with left_column():
            with form.asking("Watch it learn", _HINT):
                form.create_text("text", "The text to learn", lines=6, max_lines=10)
                form.create_slider("steps")
                form.fields["seed"] = gr.Number(
                    form.example.run.fields["seed"], label="Seed", info="another one begins with other numbers",
                    precision=0, minimum=0,
                )  # fmt: skip
            with gr.Column(elem_classes="beside"):
                gr.HTML(f'<p class="lead">{_LEAD}</p>', label="About this form")
        with result():
            form.create_answer("A tiny model that learns")
            form.create_header()
    form.connect()
    return form


def draw_learning(output: TaskOutput, *, learning: bool = False) -> str:
    """The course of the loss, what the model wrote on the way, and in the end what it has learned."""
    assert isinstance(output, TinyModelOutput)  # noqa: S101
    headline = f"Learning: step {output.steps}" if learning else _headline(output)
    said = "" if learning else f'<p class="read-out">{_learned(output)}</p>'
    samples = "".join(
        f'<li><span class="quiet">after {each.step} {"step" if each.step == 1 else "steps"}</span> '
        f'<bdi class="sample">{html.escape(each.text)}</bdi></li>'
        for each in output.samples
    )
    return (
        f'<div class="learning"><h3>{headline}</h3>{loss_curve(output, _described(output))}{said}'
        f"<h3>What it writes</h3><ol class='samples'>{samples}</ol>{'' if learning else _numbers(output)}</div>"
    )


def _headline(output: TinyModelOutput) -> str:
    first, last = output.course[0], output.course[-1]
    stopped = "" if output.finished else "You stopped it here. "
    return f"{stopped}The loss went from {first.loss:.2f} to {last.loss:.2f} in {last.step} steps"


def _learned(output: TinyModelOutput) -> str:
    """What it has learned, in two sentences or three."""
    first, last, chance = output.course[0], output.course[-1], math.log(len(output.alphabet))
    guessing = f"Guessing among {len(output.alphabet)} characters costs ln {len(output.alphabet)} = {chance:.2f}. "
    right = f"It now foresees {percent(last.right)} of the {output.read:,} characters that it read"
    if last.right >= _BY_HEART:
        right += ": it learned them by heart, and nothing else"
    best = min(output.course, key=lambda each: each.kept_out)
    kept = f"On the last {output.kept:,}, which it never read, the loss is {last.kept_out:.2f}"
    if best.step and last.kept_out > best.kept_out + 0.1:
        kept += f": worse than the {best.kept_out:.2f} after {best.step} steps. That is overfitting"
    elif last.kept_out < first.kept_out:
        kept += f", from {first.kept_out:.2f}"
    return f"{guessing}{right}. {kept}. {output.copied} characters in a row of what it wrote last stand in your text."


def _described(output: TinyModelOutput) -> str:
    """The curve in a sentence, for screen readers."""
    first, last = output.course[0], output.course[-1]
    return (
        f"Loss by step: from {first.loss:.2f} to {last.loss:.2f} after {last.step} steps on the text that it reads, "
        f"from {first.kept_out:.2f} to {last.kept_out:.2f} on the part kept out."
    )


def _numbers(output: TinyModelOutput) -> str:
    rows = [(str(each.step), f"{each.loss:.2f}", f"{each.kept_out:.2f}", percent(each.right)) for each in output.course]
    note = (
        f'<p class="quiet">{output.parameters:,} numbers were learned; they are gone now. Losses are means for a '
        "character, in nats.</p>"
    )
    heads = ("step", "loss", "loss on what was kept out", "characters foreseen")
    return fold_out("The curve as a table", table(heads, rows), "Loss by step", note)
