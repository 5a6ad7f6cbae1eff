"""Names: the people, organisations, places and other names in a text, with a fine-tuned encoder."""

import html
from itertools import islice

import gradio as gr

from demo.log.run import Run
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.task_tab import TaskTab, left_column, result
from demo.widgets.tables import fold_out, named, table
from models.outputs.base import TaskOutput
from models.outputs.encoders import NamesOutput, TokenLabel
from models.registry import Task

_LEAD = (
    "Who and what is named in a text? The same BERT, after a second training on newspaper reports: it gives <em>every "
    "token</em> a label of its own (<em>token classification</em>), and the labels of neighbours make a name."
)
_HINT = "Write or paste a text. <span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>"
_ONE_AND_MORE = {
    "person": ("person", "people"),
    "organisation": ("organisation", "organisations"),
    "place": ("place", "places"),
    "other": ("other name", "other names"),
}
_NOTE = (
    "<p class='quiet'>In each name stands its kind, and the probability of its label; of several words’ labels, that "
    "of the least likely one.</p>"
)
_LABELS = (
    "<p class='quiet'>O: no name. B: a name begins here. I: it goes on. The label of a word is that of its first "
    "piece; its other pieces have numbers too, but do not count: X.{windows}{more}</p>"
)
_WINDOWS = (
    " The text is longer than the model’s window, so it was read in {count} overlapping parts, and each token’s "
    "numbers come from the part in which it stands furthest from an edge."
)
_MOST_ROWS = 400
_HARDLY = 0.01
_MORE = " These are the first {rows} of {count} tokens; the export of History has all of them."


def create_names_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""

    def draw(run: Run, output: TaskOutput, _step: int) -> str:
        return draw_answer(str(run.fields["text"]), output)

    tab = TaskTab(service, session, Task.NAMES, draw)
    with tab.page():
        with left_column():
            with tab.asking("Find names", _HINT):
                tab.create_text("text")
            with tab.settings(_LEAD):
                tab.create_picker()
        with result():
            tab.create_answer("Names")
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(text: str, output: TaskOutput) -> str:
    """How many names of each kind, the text with its names marked, and every token's probabilities folded below."""
    assert isinstance(output, NamesOutput)  # noqa: S101
    shown, end = "", 0
    for name in output.entities:
        shown += f"{html.escape(text[end : name.start])}{_marked(name.text, name.label, name.score)}"
        end = name.end
    shown += html.escape(text[end:])
    return (
        f"<h3>{found(output)}</h3>"
        f'<p class="named-text" dir="auto" tabindex="0" role="group" aria-label="The text with its names">{shown}</p>'
        f"{_NOTE * bool(output.entities)}{_tokens(output)}"
    )


def found(output: NamesOutput) -> str:
    """How many names of each kind there are, in a sentence."""
    kinds = [each.label for each in output.entities]
    counts = [f"{count} {forms[count > 1]}" for kind, forms in _ONE_AND_MORE.items() if (count := kinds.count(kind))]
    if not counts:
        return "The model finds no name in this text"
    *others, last = counts
    return f"The model finds {', '.join(others)}{' and ' * bool(others)}{last}"


def _marked(text: str, kind: str, score: float) -> str:
    """A name in its text, with its kind and its score below it."""
    forms = html.escape(_ONE_AND_MORE[kind][0])
    return (
        f'<mark class="name" data-kind="{kind}"><bdi>{html.escape(text)}</bdi>'
        f'<span class="name-kind"><span class="sr-only">: </span>{forms} {percent(score)}</span></mark>'
    )


def _tokens(output: NamesOutput) -> str:
    """Every token's label and probabilities as a table that can be unfolded."""
    heads = ("Token", "Label", *output.classes)
    rows = [_row(each) for each in islice(output.labels, _MOST_ROWS)]
    count = len(output.labels)
    windows = _WINDOWS.format(count=output.windows) if output.windows > 1 else ""
    more = _MORE.format(rows=_MOST_ROWS, count=f"{count:,}") if count > _MOST_ROWS else ""
    note = _LABELS.format(windows=windows, more=more)
    return fold_out("Every token’s probabilities", table(heads, rows), "Probabilities of every token’s labels", note)


def _row(each: TokenLabel) -> list[str]:
    greatest = max(each.shares)
    styles = ["wins" if share == greatest else "quiet" if share < _HARDLY else "" for share in each.shares]
    cells = [f'<td class="{style}">{percent(share)}</td>' for style, share in zip(styles, each.shares, strict=True)]
    return [named(each.token), html.escape(each.label), *cells]
