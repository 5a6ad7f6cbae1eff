"""Is it machine-written? A second form in the tab Surprise: a detector, and how often it is wrong."""

from collections.abc import Sequence
from itertools import pairwise

import gradio as gr

from demo.language import N_, _, ngettext, number
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.columns import lead, left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.tables import fold_out, framed, table
from models.outputs.base import TaskOutput
from models.outputs.surprise import WrittenByOutput
from models.registry import Task
from models.tasks.written_by import LEAST_TOKENS, RANKS, load

_LEAD = N_(
    "People choose words that a language model did not expect more often than models do (Gehrmann and others, 2019). A "
    "<em>logistic regression</em> counts how many tokens have which rank and how many bits, and weighs the counts. The "
    "model that is chosen above plays no part: it was trained with Clearhead Stories as the reader."
)
_HINT = N_("At least {least} tokens, better 200. <span class='keys'>Enter judges the text.</span>")


def create_written_by_form(service: DemoService, session: gr.BrowserState, surprise: TaskTab) -> TaskTab:
    """The form with its events, in the tab `surprise`."""
    form = TaskTab(service, session, Task.WRITTEN_BY, lambda _run, output, _step: draw_written_by(output), surprise)
    with form.page():
        with left_column(), form.asking(_("Judge it"), _(_HINT, least=LEAST_TOKENS)):
            form.create_text("text", _("The text in question"), max_lines=8)
            lead(_(_LEAD), _("About this form"))
        with result():
            form.create_answer(_("Is it machine-written?"))
            form.create_header()
    form.connect()
    return form


def draw_written_by(output: TaskOutput) -> str:
    """The probability, the detector's error rates, the ranks beside typical ones, and all that was measured."""
    assert isinstance(output, WrittenByOutput)  # noqa: S101
    figures = output.figures
    said = _(
        "Of texts of {tokens} tokens by people, the detector takes <strong>{alarms} for a model’s by mistake</strong>. "
        "It is right about {right} of texts of that length, half of them by people; guessing is right about 50 %. "
        "Yours has {counted:,}.",
        tokens=figures.tokens,
        alarms=percent(figures.false_alarms),
        right=percent(figures.accuracy),
        counted=output.counted,
    )
    caution = _(
        "It has met two small models and cannot tell about others, such as today’s chat assistants. The number is "
        "about a text and proves nothing about whoever handed it in."
    )
    return (
        f"<h3>{_('Reads like a model’s text: {share}', share=percent(output.machine))}</h3>"
        f'<p>{said}</p><p class="quiet">{caution}</p>{_histogram(output.ranks)}{_measured()}'
    )


def _histogram(ranks: Sequence[float]) -> str:
    """The shares of tokens by rank, beside the means of people's texts and of the models'."""
    bounds = ["1", *(f"{number(low + 1)}–{number(high)}" for low, high in pairwise(RANKS)), _("beyond")]
    typical = load()["typical"]
    rows = [
        (name, *map(percent, shares))
        for name, *shares in zip(bounds, ranks, typical["people"], typical["model"], strict=False)
    ]
    name = _("How many tokens have which rank")
    heads = (_("rank"), _("this text"), _("people’s, typical"), _("a model’s, typical"))
    return f"<h4>{name}</h4>" + framed(table(heads, rows), name, "histogram")


def _measured() -> str:
    """A folded table of how often the detector takes a text for a model's, by writer and length."""
    figures = load()["figures"]
    tokens = [ngettext("{count} token", "{count} tokens", each["tokens"]) for each in figures]
    heads = (_("written by"), *tokens)
    rows = [
        (_(writer), *(percent(each["called"][writer]) if writer in each["called"] else "–" for each in figures))
        for writer in figures[0]["called"]
    ]
    rows.append((_("right, of all"), *(percent(each["accuracy"]) for each in figures)))
    name = _("How often it takes a text for a model’s, by writer and length")
    note = _(
        "Of texts kept out of training, whose topics are shared: models went on from the first sentences of people’s "
        "texts. “If unmet”: by a detector that learned from none of that model’s texts. Measured by "
        "<code>training/written_by.py</code>."
    )
    return fold_out(name, table(heads, rows), name, f'<p class="quiet">{note}</p>')
