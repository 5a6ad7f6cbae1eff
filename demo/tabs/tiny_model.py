"""A tiny model that learns while you watch: a second form in the tab Training."""

import html
import math

import gradio as gr

from demo.language import N_, _, ngettext, number
from demo.plots.reading import percent
from demo.plots.training import loss_curve
from demo.runs import DemoService, Finished
from demo.tabs.columns import lead, left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.tables import fold_out, table
from models.outputs.base import TaskOutput
from models.outputs.training import TinyModelOutput
from models.registry import Task
from models.tasks.tiny_model import LEAST, LONGEST, MOST_S

_LEAD = N_(
    "A new decoder of two layers, 64 numbers wide, begins with random numbers and foresees each next character of your "
    "text, again and again. A tenth of the text is kept out: what it learned by heart does not help there."
)
_HINT = N_("{least} to {longest:,} characters; it learns for {seconds:.0f} seconds at most.")
_BY_HEART = 0.9
"""The share of rightly predicted characters from which on a text counts as learned by heart."""


class TinyModelForm(TaskTab):
    """The form, whose answer grows while the model learns."""

    def grown(self, run: Finished) -> str:
        """The training so far, as HTML; empty once it is finished."""
        return "" if run.run.answer else draw_learning(run.output, learning=True)


def create_tiny_model_form(service: DemoService, session: gr.BrowserState, training: TaskTab) -> TaskTab:
    """The form with its events, in the tab `training`."""
    form = TinyModelForm(service, session, Task.TINY_MODEL, lambda _run, output, _step: draw_learning(output), training)
    with form.page():
        with left_column():
            hint = _(_HINT, least=LEAST, longest=LONGEST, seconds=MOST_S)
            with form.asking(_("Watch it learn"), hint):
                form.create_text("text", _("The text to learn"), lines=6, max_lines=10)
                form.create_slider("steps")
                form.create_seed(_("another one begins with other numbers"))
            with gr.Column(elem_classes="beside"):
                lead(_(_LEAD), _("About this form"))
        with result():
            form.create_answer(_("A tiny model that learns"))
            form.create_header()
    form.connect()
    return form


def draw_learning(output: TaskOutput, *, learning: bool = False) -> str:
    """The loss curve, what the model wrote on the way and, unless it is still `learning`, what it has learned."""
    assert isinstance(output, TinyModelOutput)  # noqa: S101
    headline = _("Learning: step {step}", step=output.steps) if learning else _headline(output)
    said = "" if learning else f'<p class="read-out">{_learned(output)}</p>'
    samples = "".join(
        f'<li><span class="quiet">{ngettext("after {count} step", "after {count} steps", each.step)}</span> '
        f'<bdi class="sample">{html.escape(each.text)}</bdi></li>'
        for each in output.samples
    )
    return (
        f'<div class="learning"><h3>{headline}</h3>{loss_curve(output, _described(output))}{said}'
        f"<h3>{_('What it writes')}</h3><ol class='samples'>{samples}</ol>{'' if learning else _numbers(output)}</div>"
    )


def _headline(output: TinyModelOutput) -> str:
    first, last = output.course[0], output.course[-1]
    went = ngettext(
        "The loss went from {first:.2f} to {last:.2f} in {count} step",
        "The loss went from {first:.2f} to {last:.2f} in {count} steps",
        last.step,
        first=first.loss,
        last=last.loss,
    )
    return went if output.finished else f"{_('You stopped it here.')} {went}"


def _learned(output: TinyModelOutput) -> str:
    """Sentences on what the model has learned."""
    last, characters = output.course[-1], len(output.alphabet)
    guessing = _(
        "Guessing among {characters} characters costs ln {characters} = {loss:.2f}.",
        characters=characters,
        loss=math.log(characters),
    )
    right = (
        _(
            "It now foresees {share} of the {read:,} characters that it read: it learned them by heart, and nothing "
            "else.",
            share=percent(last.right),
            read=output.read,
        )
        if last.right >= _BY_HEART
        else _(
            "It now foresees {share} of the {read:,} characters that it read.",
            share=percent(last.right),
            read=output.read,
        )
    )
    copied = ngettext(
        "{count} character in a row of what it wrote last stands in your text.",
        "{count} characters in a row of what it wrote last stand in your text.",
        output.copied,
    )
    return f"{guessing} {right} {_kept(output)} {copied}"


def _kept(output: TinyModelOutput) -> str:
    """A sentence on the loss on the part of the text that was kept out."""
    first, last, best = output.course[0], output.course[-1], min(output.course, key=lambda each: each.kept_out)
    if best.step and last.kept_out > best.kept_out + 0.1:
        return ngettext(
            "On the last {kept:,}, which it never read, the loss is {loss:.2f}: worse than the {best:.2f} after "
            "{count} step. That is overfitting.",
            "On the last {kept:,}, which it never read, the loss is {loss:.2f}: worse than the {best:.2f} after "
            "{count} steps. That is overfitting.",
            best.step,
            kept=output.kept,
            loss=last.kept_out,
            best=best.kept_out,
        )
    if last.kept_out < first.kept_out:
        return _(
            "On the last {kept:,}, which it never read, the loss is {loss:.2f}, from {first:.2f}.",
            kept=output.kept,
            loss=last.kept_out,
            first=first.kept_out,
        )
    return _("On the last {kept:,}, which it never read, the loss is {loss:.2f}.", kept=output.kept, loss=last.kept_out)


def _described(output: TinyModelOutput) -> str:
    """The curve in a sentence, for screen readers."""
    first, last = output.course[0], output.course[-1]
    return ngettext(
        "Loss by step: from {first:.2f} to {last:.2f} after {count} step on the text that it reads, from {kept:.2f} "
        "to {kept_last:.2f} on the part kept out.",
        "Loss by step: from {first:.2f} to {last:.2f} after {count} steps on the text that it reads, from {kept:.2f} "
        "to {kept_last:.2f} on the part kept out.",
        last.step,
        first=first.loss,
        last=last.loss,
        kept=first.kept_out,
        kept_last=last.kept_out,
    )


def _numbers(output: TinyModelOutput) -> str:
    rows = [
        (str(each.step), number(each.loss, ".2f"), number(each.kept_out, ".2f"), percent(each.right))
        for each in output.course
    ]
    learned = _(
        "{parameters:,} numbers were learned; they are gone now. Losses are means for a character, in nats.",
        parameters=output.parameters,
    )
    heads = (_("step"), _("loss"), _("loss on what was kept out"), _("characters foreseen"))
    note = f'<p class="quiet">{learned}</p>'
    return fold_out(_("The curve as a table"), table(heads, rows), _("Loss by step"), note)
