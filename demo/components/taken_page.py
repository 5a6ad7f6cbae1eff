"""What the reader shows as a page of its own, and as a part of a page."""

import html
from functools import cache

from demo.components.bars import bars
from demo.components.coloured_sentence import coloured_sentence, colouring
from demo.components.offline_page import following_the_system, offline_page
from demo.components.read_out import said
from demo.components.reader_controls import KINDS
from demo.components.run_list import TASK_TITLES
from demo.components.taken import Taken
from demo.log.export import answer_in_words
from demo.log.run import Run
from demo.page import ASSETS
from demo.plots.cells import attention_svg
from demo.plots.reading import place
from models.outputs import FillMaskOutput, SentimentOutput, TaskOutput
from models.registry import REGISTRY

_LABELS = {
    "text": "Text",
    "question": "Question",
    "context": "Text to find the answer in",
    "prompt": "Beginning of the text",
    "word": "My word",
}
_LONG = 300


def as_page(taken: Taken) -> str:
    """Input, answer, the text in colours, the heatmap, its numbers, and what made them, as one HTML file."""
    title = f"{TASK_TITLES[taken.finished.run.task]}: what the model looked at"
    body = f"<main><h1>{title}</h1>{taken_part(taken)}<h2>What made it</h2>{_made_by(taken)}</main>"
    return offline_page(title, body, [following_the_system() + taken_script()])


def taken_part(taken: Taken) -> str:
    """Input, answer, the text in colours and the heatmap with its numbers, as a part of a page."""
    run, view = taken.finished.run, taken.view
    return (
        f'<section class="taken reader prose">{_given(run)}<h2>Answer</h2>{_answer(taken.finished.output)}'
        f'<h2>What it looked at</h2><div class="sentence-box">{coloured_sentence(view)}</div>'
        f'<div class="frame heatmap-frame">{attention_svg(view)}</div><p class="quiet cell-read-out"></p>'
        f'<div class="reading">{said(view, taken.role, live=False)}</div></section>'
    )


@cache
def taken_script() -> str:
    """The script of the coloured sentence as Gradio would run it, with nothing to watch, for each part of a page."""
    own = (ASSETS / "scripts" / "taken_page.js").read_text(encoding="utf-8")
    given = "const element = part.querySelector('.sentence-box'), watch = () => {};"
    return f"for (const part of document.querySelectorAll('.taken')) {{\n{given}\n{colouring()}{own}}}"


def _given(run: Run) -> str:
    texts = "".join(
        f"<h2>{_LABELS.get(name, html.escape(name))}</h2>{_text(str(value))}"
        for name, value in run.inputs.items()
        if value or name != "word"
    )
    seed = {} if run.seed is None else {"seed": run.seed}
    settings = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in (run.parameters | seed).items()
        if isinstance(value, str | int | float)
    )
    return texts + (f'<p class="quiet">Settings: {html.escape(settings)}</p>' if settings else "")


def _text(text: str) -> str:
    size = "given long" if len(text) > _LONG else "given"
    return f'<p class="{size}"><bdi>{html.escape(text) or "(empty)"}</bdi></p>'


def _answer(output: TaskOutput) -> str:
    """The answer in words, and its probabilities where it was chosen from a list."""
    words = _text(answer_in_words(output).strip() or "No answer in this text")
    match output:
        case FillMaskOutput():
            blanks = enumerate(output.predictions, start=1)
            return words + "".join(bars(found, f"Likeliest words for blank {number}") for number, found in blanks)
        case SentimentOutput():
            return words + bars(output.scores, "Probability of each class", winner=output.label)
        case _:
            return words


def _made_by(taken: Taken) -> str:
    run = taken.finished.run
    known = REGISTRY.get(run.checkpoint)
    name = f"{known.title} ({run.checkpoint})" if known and known.title != run.checkpoint else run.checkpoint
    kind = KINDS.get(taken.view.kind, taken.view.kind)
    pieces = "whole words" if taken.place.words else "the model’s own pieces of words"
    lines = [
        f"Model: {name}, revision {run.revision}, licence {run.license}",
        f"Attention: {kind}, {place(taken.view)}; drawn in {pieces}",
        f"Run on {run.created_utc:%d %b %Y, %H:%M} UTC" + (f", number {run.id}" if run.id else ""),
        "Saved from Clearhead. This page is complete: it asks nothing of any server.",
    ]
    return f'<p class="quiet">{"<br>".join(map(html.escape, lines))}</p>'
