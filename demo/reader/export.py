"""Export of what the reader shows: a picture, CSV, JSON, a link, or a self-contained HTML page."""

import csv
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
import numpy as np
import orjson
from gradio.components import Component

from demo.events import QUICK, for_visitors
from demo.language import N_, _
from demo.language.scripts import script_texts
from demo.log.export import answer_in_words, measured, safe_cell
from demo.log.run import Run
from demo.plots.heatmap import attention_svg
from demo.plots.reading import place, read_out
from demo.plots.template import label
from demo.plots.view import AttentionView
from demo.reader.controls import KINDS
from demo.reader.link import ReaderSettings
from demo.reader.sentence import coloured_sentence, said
from demo.runs import DemoService, Finished
from demo.settings import MODEL_QUEUE
from demo.teaching import by_class
from demo.theme import script
from demo.widgets.bars import bars
from demo.widgets.notice import alert
from demo.widgets.runs import TASK_TITLES
from demo.widgets.saved import SavedFile, TextFile, csv_file, html_file, json_file, offline_page
from models.errors import InputError
from models.outputs.attention import MEAN, HeadRole
from models.outputs.base import TaskOutput, Token
from models.outputs.encoders import FillMaskOutput, SentimentOutput
from models.outputs.vectors import TeachOutput
from models.registry import REGISTRY


@dataclass(frozen=True, eq=False)
class Taken:
    """The picture on screen: its run, `view` as it is shown, the controls' settings (`place`) and the head's role.

    The run's id is empty for a recorded example and for another visitor's run.
    """

    finished: Finished
    view: AttentionView
    place: ReaderSettings
    role: HeadRole | None

    @property
    def stem(self) -> str:
        """A file name without its ending: the task, and which attention."""
        view = self.view
        layer = "" if view.layer == MEAN else f"-layer-{view.layer + 1}"
        head = f"-head-{view.head + 1}" if view.of_one_head else f"-{view.how}"
        return f"clearhead-{self.finished.run.task.endpoint.replace('_', '-')}-{view.kind}{layer}{head}"

    @property
    def made_by(self) -> dict[str, Any]:
        """The origin of the numbers; layers and heads count from 1, and `None` stands for all of them."""
        run, view = self.finished.run, self.view
        return {
            "run_id": run.id or None,
            "task": run.task.value,
            "checkpoint": run.checkpoint,
            "revision": run.revision,
            "license": run.license,
            "created_utc": run.created_utc.isoformat(),
            "kind": view.kind,
            "how": view.how,
            "layer": None if view.layer == MEAN else view.layer + 1,
            "head": None if view.head == MEAN else view.head + 1,
            "layers": view.layers,
            "heads": view.heads,
            "words": self.place.words,
            "specials": self.place.specials,
            "step": self.place.step or None,
            "read_out": read_out(view),
        }


def as_csv(taken: Taken) -> str:
    """The numbers as CSV: lines on their origin, then a row per query and a column per key, masked cells empty."""
    view = taken.view
    file = io.StringIO(newline="")
    lines = csv.writer(file)
    lines.writerows((name, safe_cell(value)) for name, value in taken.made_by.items())
    lines.writerows([[], ["from \\ to", *map(_name, view.key_tokens)]])
    for token, weights, masked in zip(view.query_tokens, view.weights, view.masked, strict=True):
        # `astype(str)` writes a float32 with the fewest digits that restore it.
        lines.writerow([_name(token), *np.where(masked, "", weights.astype(str))])
    return file.getvalue()


def as_json(taken: Taken) -> str:
    """The numbers as JSON: their origin, the tokens, and `weights` by queries and keys, `null` where masked."""
    view = taken.view
    numbers = {
        "query_tokens": [token.text for token in view.query_tokens],
        "key_tokens": [token.text for token in view.key_tokens],
        # JSON has no NaN: it becomes `null`.
        "weights": np.ascontiguousarray(np.where(view.masked, np.float32(np.nan), view.weights)),
    }
    return orjson.dumps(taken.made_by | numbers, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2).decode()


def _name(token: Token) -> str:
    """A token's name as in the picture, but not cut short."""
    return str(safe_cell(token.text.strip() or label(token)))


_LABELS = {
    "text": N_("Text"),
    "question": N_("Question"),
    "context": N_("Text to find the answer in"),
    "prompt": N_("Beginning of the text"),
    "word": N_("My word"),
    "sentences": N_("Sentences"),
    "examples": N_("Examples it was taught with"),
    "texts": N_("Text to judge"),
    "kept_out": N_("Examples kept for the test"),
    "a": N_("First text"),
    "b": N_("Second text"),
    "beginning": N_("Beginning"),
    "endings": N_("Endings"),
    "other": N_("Text to compare with"),
}
_LONG = 300


def as_page(taken: Taken) -> str:
    """Input, answer, coloured text, heatmap, its numbers, and the model that made them, as one HTML file."""
    run, view = taken.finished.run, taken.view
    title = _("{task}: what the model looked at", task=_(TASK_TITLES[run.task]))
    known = REGISTRY.get(run.checkpoint)
    name = f"{known.title} ({run.checkpoint})" if known and known.title != run.checkpoint else run.checkpoint
    kind = _(KINDS.get(view.kind, view.kind))
    made_by = [
        _(
            "Model: {name}, revision {revision}, licence {licence}",
            name=name,
            revision=run.revision,
            licence=run.license,
        ),
        _("Attention: {kind}, {place}; drawn in whole words", kind=kind, place=place(view))
        if taken.place.words
        else _("Attention: {kind}, {place}; drawn in the model’s own pieces of words", kind=kind, place=place(view)),
        _("Run on {date:%d %b %Y, %H:%M} UTC, number {number}", date=run.created_utc, number=run.id)
        if run.id
        else _("Run on {date:%d %b %Y, %H:%M} UTC", date=run.created_utc),
        _("Saved from Clearhead. This page is complete: it asks nothing of any server."),
    ]
    body = (
        f"<main><h1>{title}</h1>{taken_part(taken)}<h2>{_('What made it')}</h2>"
        f'<p class="quiet">{"<br>".join(map(html.escape, made_by))}</p></main>'
    )
    return offline_page(title, body, taken_script())


def taken_part(taken: Taken) -> str:
    """Input, answer, coloured text and the heatmap with its numbers, as a section of a page."""
    run, view = taken.finished.run, taken.view
    return (
        f'<section class="taken reader prose">{_given(run)}<h2>{_("Answer")}</h2>{_answer(taken.finished.output)}'
        f'<h2>{_("What it looked at")}</h2><div class="sentence-box">{coloured_sentence(view)}</div>'
        f'<div class="frame heatmap-frame">{attention_svg(view)}</div><p class="quiet cell-read-out"></p>'
        f'<div class="reading">{said(view, taken.role, live=False)}</div></section>'
    )


def taken_script() -> str:
    """JavaScript that runs the coloured sentence's script in each `taken_part` as Gradio would, but watches nothing."""
    given = "const element = part.querySelector('.sentence-box'), watch = () => {};"
    own = script("coloured_sentence.js") + script("taken_page.js")
    return f"{script_texts()}\nfor (const part of document.querySelectorAll('.taken')) {{\n{given}\n{own}}}"


def _given(run: Run) -> str:
    texts = "".join(
        f"<h2>{_(_LABELS[name]) if name in _LABELS else html.escape(name)}</h2>{_text(_as_text(value))}"
        for name, value in run.inputs.items()
        if value or name not in ("word", "texts", "kept_out")
    )
    seed = {} if run.seed is None else {"seed": run.seed}
    settings = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in (run.parameters | seed).items()
        if isinstance(value, str | int | float)
    )
    said = _("Settings: {settings}", settings=html.escape(settings)) if settings else ""
    return texts + (f'<p class="quiet">{said}</p>' if said else "")


def _as_text(value: object) -> str:
    """A field as text; of a list of examples, each class is a line."""
    if not isinstance(value, list | tuple):
        return str(value)
    classes = by_class(value)
    if not classes:
        return "\n".join(map(str, value))
    return "\n".join(f"{label}: {' | '.join(texts)}" for label, texts in classes.items())


def _text(text: str) -> str:
    size = "given long" if len(text) > _LONG else "given"
    return f'<p class="{size}"><bdi>{html.escape(text) or _("(empty)")}</bdi></p>'


def _answer(output: TaskOutput) -> str:
    """The answer in words, and its probabilities where it was chosen from a list."""
    words = _text(answer_in_words(output).strip() or _("No answer in this text"))
    match output:
        case FillMaskOutput():
            blanks = enumerate(output.predictions, start=1)
            return words + "".join(
                bars(found, _("Likeliest words for blank {number}", number=number)) for number, found in blanks
            )
        case SentimentOutput():
            return words + bars(output.scores, _("Probability of each class"), winner=output.label)
        case TeachOutput():
            name = _("Probability of each class")
            found = [bars(each.scores, name, winner=each.label) for each in output.predictions]
            return words + "".join(found) + _text(measured(output))
        case _:
            return words


_FILES: dict[str, Callable[[Taken], TextFile]] = {
    N_("Numbers (CSV)"): lambda taken: csv_file(as_csv(taken), taken.stem),
    N_("Numbers (JSON)"): lambda taken: json_file(as_json(taken), taken.stem),
    N_("Page (HTML)"): lambda taken: html_file(as_page(taken), taken.stem),
}
_HELP = N_(
    "The picture and its numbers as they are above, as files. The page is one file that works without a network. The "
    "link opens this run with its text, settings and view, here on this host; it works only from when you ask for it "
    "until you stop sharing or delete the run. Whoever has it sees this run and none of your others."
)


def create_take_away(
    service: DemoService, session: gr.BrowserState, take: Callable[..., Taken], asked: Sequence[Component]
) -> list[Component]:
    """Create the folded section that exports what is on screen: `take` of the values of `asked`, the first a run.

    Returns the components that belong to one run and are cleared for another: a line on what was saved, and the link.
    """
    with gr.Accordion(_("Take it away: picture, numbers, page, link"), open=False, elem_classes="tool"):
        gr.HTML(f'<p class="quiet">{_(_HELP)}</p>')
        with gr.Row(elem_classes="history-actions"):
            names = (_("Picture (PNG)"), *map(_, _FILES), _("Link"))
            picture, *files, link = (gr.Button(name, min_width=170, scale=0) for name in names)
        saved = gr.HTML("", label=_("What was saved"))
        shared = gr.HTML("", js_on_load=script("shared_link.js"), elem_classes="shared-link", label=_("The link"))
        file = SavedFile()

    def written(make: Callable[[Taken], TextFile], *values: Any) -> TextFile:
        return make(take(*values))

    def share(session_id: str, *values: Any) -> str:
        taken = take(*values)
        try:
            key = service.log.share(taken.finished.run.id, session_id)
        except InputError as error:
            return alert(_(error.sentence))
        return _shared_link(key, taken.place.as_fragment(), service.history_is_kept)

    def unshare(session_id: str, finished: Finished, *_values: Any) -> str:
        # `take` would fail for a run whose text was forgotten, and sharing must end for that, too.
        service.log.unshare(finished.run.id, session_id)
        return f'<p role="status">{_("No longer shared: the link leads nowhere now.")}</p>'

    picture.click(None, None, saved, js=script("save_picture.js"))
    # Exports may have to capture attention again, so they wait in the queue of the models.
    computed: dict[str, Any] = QUICK | {"queue": True, "concurrency_id": MODEL_QUEUE}
    for button, make in zip(files, _FILES.values(), strict=True):
        file.connect(button, partial(written, make), asked, **computed)
    link.click(for_visitors(share), [session, *asked], shared, **computed)
    shared.delete(for_visitors(unshare), [session, *asked], shared, **QUICK)
    return [saved, shared]


def _shared_link(key: str, place: str, lasting: bool) -> str:
    """The address of a shared run, which the page's script completes, with buttons to copy it and to stop sharing."""
    who = _("Whoever has this address can see this run.")
    if not lasting:
        who += " " + _("This host keeps no log at the moment, so the link stops working when it restarts.")
    return (
        f'<label>{_("Address of this run and view")}<input type="text" readonly '
        f'data-key="{html.escape(key)}" data-place="{html.escape(place)}"></label>'
        f'<p class="link-actions"><button type="button" data-copy>{_("Copy the link")}</button>'
        f'<button type="button" data-unshare>{_("Stop sharing")}</button><span role="status"></span></p>'
        f'<p class="quiet">{who}</p>'
    )
