"""Names: the people, organisations, places and other names in a text, with a fine-tuned encoder."""

import html
from itertools import islice

import gradio as gr

from demo.language import N_, _, ngettext
from demo.log.run import Run
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.tables import fold_out, named, table
from models.outputs.base import TaskOutput
from models.outputs.encoders import NamesOutput, TokenLabel
from models.registry import Task

_LEAD = N_(
    "Who and what is named in a text? The same BERT, after a second training on newspaper reports: it gives <em>every "
    "token</em> a label of its own (<em>token classification</em>), and the labels of neighbours make a name."
)
_HINT = N_("Write or paste a text. <span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>")
_KINDS = {"person": N_("person"), "organisation": N_("organisation"), "place": N_("place"), "other": N_("other name")}
_NOTE = N_(
    "In each name stands its kind, and the probability of its label; of several words’ labels, that of the least "
    "likely one."
)
_LABELS = N_(
    "O: no name. B: a name begins here. I: it goes on. The label of a word is that of its first piece; its other "
    "pieces have numbers too, but do not count: X."
)
_MOST_ROWS = 400
_HARDLY = 0.01


def create_names_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""

    def draw(run: Run, output: TaskOutput, _step: int) -> str:
        return draw_answer(str(run.fields["text"]), output)

    tab = TaskTab(service, session, Task.NAMES, draw)
    with tab.page():
        with left_column():
            with tab.asking(_("Find names"), _(_HINT)):
                tab.create_text("text")
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("Names"))
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(text: str, output: TaskOutput) -> str:
    """The number of names of each kind, the text with its names marked, and a folded table of probabilities."""
    assert isinstance(output, NamesOutput)  # noqa: S101
    shown, end = "", 0
    for name in output.entities:
        shown += f"{html.escape(text[end : name.start])}{_marked(name.text, name.label, name.score)}"
        end = name.end
    shown += html.escape(text[end:])
    note = f"<p class='quiet'>{_(_NOTE)}</p>" if output.entities else ""
    label = html.escape(_("The text with its names"))
    return (
        f"<h3>{found(output)}</h3>"
        f'<p class="named-text" dir="auto" tabindex="0" role="group" aria-label="{label}">{shown}</p>'
        f"{note}{_tokens(output)}"
    )


def found(output: NamesOutput) -> str:
    """A sentence on how many names of each kind there are."""
    kinds = [each.label for each in output.entities]
    counts = [_counted(kind, count) for kind in _KINDS if (count := kinds.count(kind))]
    if not counts:
        return _("The model finds no name in this text")
    *others, last = counts
    if not others:
        return _("The model finds {names}", names=last)
    return _("The model finds {others} and {last}", others=", ".join(others), last=last)


def _counted(kind: str, count: int) -> str:
    match kind:
        case "person":
            return ngettext("{count} person", "{count} people", count)
        case "organisation":
            return ngettext("{count} organisation", "{count} organisations", count)
        case "place":
            return ngettext("{count} place", "{count} places", count)
    return ngettext("{count} other name", "{count} other names", count)


def _marked(text: str, kind: str, score: float) -> str:
    """A name marked in its text, with its kind and probability."""
    said = html.escape(_(_KINDS[kind]))
    return (
        f'<mark class="name" data-kind="{kind}"><bdi>{html.escape(text)}</bdi>'
        f'<span class="name-kind"><span class="sr-only">: </span>{said} {percent(score)}</span></mark>'
    )


def _tokens(output: NamesOutput) -> str:
    """Every token's label and probabilities as a table that can be unfolded."""
    heads = (_("Token"), _("Label"), *output.classes)
    rows = [_row(each) for each in islice(output.labels, _MOST_ROWS)]
    count = len(output.labels)
    notes = [_(_LABELS)]
    if output.windows > 1:
        notes.append(
            _(
                "The text is longer than the model’s window, so it was read in {count} overlapping parts, and each "
                "token’s numbers come from the part in which it stands furthest from an edge.",
                count=output.windows,
            )
        )
    if count > _MOST_ROWS:
        notes.append(
            _(
                "These are the first {rows} of {count:,} tokens; the export of History has all of them.",
                rows=_MOST_ROWS,
                count=count,
            )
        )
    note = f"<p class='quiet'>{' '.join(notes)}</p>"
    summary, name = _("Every token’s probabilities"), _("Probabilities of every token’s labels")
    return fold_out(summary, table(heads, rows), name, note)


def _row(each: TokenLabel) -> list[str]:
    greatest = max(each.shares)
    styles = ["wins" if share == greatest else "quiet" if share < _HARDLY else "" for share in each.shares]
    cells = [f'<td class="{style}">{percent(share)}</td>' for style, share in zip(styles, each.shares, strict=True)]
    return [named(each.token), html.escape(each.label), *cells]
