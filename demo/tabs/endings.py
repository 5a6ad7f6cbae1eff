"""Which ending? A second form in the tab of sentence pairs: two models rank endings."""

import html
import math
from collections.abc import Sequence
from typing import Any

import gradio as gr

from demo.language import N_, _
from demo.plots.reading import decimals, percent
from demo.runs import DemoService
from demo.tabs.columns import lead, left_column, result
from demo.tabs.task_tab import TaskTab
from models.outputs.base import TaskOutput
from models.outputs.encoders import EndingsOutput
from models.registry import REGISTRY, Task

_LEAD = N_(
    "Which ending fits a beginning best? <em>Next sentence prediction</em> says how likely each comes next; a "
    "completion model says how likely its words are, one after another. (The task is SWAG’s; Zellers and others, 2018.)"
)
_HINT = N_("Two to four endings, one a line. <span class='keys'>Shift+Enter ranks them.</span>")
_FOLLOWS = N_("The probability that the ending comes right after the beginning, each asked by itself.")
_PICTURE = N_(
    "The picture of attention above is now of the beginning with the ending that next sentence prediction puts first."
)


class EndingsForm(TaskTab):
    """The form; the tab's reader then shows the beginning with the ending that is likeliest to come next."""

    def named(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """The values of the fields by their names, with the lines of the endings as a list."""
        fields = super().named(values)
        return {**fields, "endings": [line for line in str(fields["endings"] or "").splitlines() if line.strip()]}


def create_endings_form(service: DemoService, session: gr.BrowserState, pairs: TaskTab) -> TaskTab:
    """The form with its events, in the tab `pairs`."""
    form = EndingsForm(service, session, Task.ENDINGS, lambda _run, output, _step: draw_endings(output), pairs)
    with form.page():
        with left_column(), form.asking(_("Rank them"), _(_HINT)):
            form.create_text("beginning", _("The beginning"), max_lines=4)
            form.create_text("endings", _("Endings"), lines=3, max_lines=6)
            lead(_(_LEAD), _("About this form"))
        with result():
            form.create_answer(_("Which ending?"))
            form.create_header()
    form.connect()
    return form


def draw_endings(output: TaskOutput) -> str:
    """Both rankings side by side, and a sentence on whether they agree on the first."""
    assert isinstance(output, EndingsOutput)  # noqa: S101
    by_follows, by_words = (
        [output.endings[place] for place in order] for order in (output.by_follows, output.by_log_probability)
    )
    first, other = html.escape(by_follows[0].text), html.escape(by_words[0].text)
    if output.disagree:
        said = _(
            "The two disagree: next sentence prediction puts “<bdi>{first}</bdi>” first, the completion model "
            "“<bdi>{other}</bdi>”",
            first=first,
            other=other,
        )
    else:
        said = _("Both put “<bdi>{first}</bdi>” first", first=first)
    best = by_words[0].log_probability
    follows = [(each.text, each.follows, percent(each.follows)) for each in by_follows]
    likely = [(each.text, math.exp(each.log_probability - best), decimals(each.log_probability)) for each in by_words]
    known = REGISTRY.get(output.writer.name)
    writer = html.escape(known.title if known else output.writer.name)
    by_encoder, by_writer = _("Next sentence prediction"), _("Completion model")
    measure = _(
        "{writer}’s mean <em>log-probability</em> of a token of the ending: the nearer to 0, the likelier. Bars "
        "compare with the best.",
        writer=writer,
    )
    first_list = _ranked(_("Probability that it comes next"), follows)
    second_list = _ranked(_("Mean log-probability of a token"), likely)
    return (
        f"<h3>{said}</h3><div class='columns pair-answers'>"
        f"<section><h3>{by_encoder}</h3>{first_list}<p class='quiet'>{_(_FOLLOWS)}</p></section>"
        f"<section><h3>{by_writer}</h3>{second_list}<p class='quiet'>{measure}</p></section></div>"
        f"<p class='quiet'>{_(_PICTURE)}</p>"
    )


def _ranked(name: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """A list called `name` of `rows`: an ending, the length of its bar (from 0 to 1), and its number as text."""
    items = "".join(
        f'<li{" class=wins" if not place else ""}><span class="bar-name"><bdi>{html.escape(text)}</bdi></span>'
        f'<span class="bar-track" aria-hidden="true"><span style="width:{100 * share:.2f}%"></span></span>'
        f'<span class="bar-number">{number}</span></li>'
        for place, (text, share, number) in enumerate(rows)
    )
    return f'<ol class="bars ranked" aria-label="{html.escape(name)}">{items}</ol>'
