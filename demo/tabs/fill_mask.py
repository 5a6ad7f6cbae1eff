"""Fill the blank: the likeliest words at each mask, with a masked language model."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from demo.events import QUICK
from demo.plots.reading import percent
from demo.reader.reader import AttentionReader
from demo.recorded import examples_of, recorded
from demo.runs import DemoService
from demo.tabs import task_tab as shape
from demo.tabs.task_tab import RunControls, TaskTab
from demo.widgets import Updates
from demo.widgets.bars import bars
from demo.widgets.chips import CHOOSE_CHIP, aligned, readable, toggled, token_chips, words_of
from demo.widgets.notice import create_notice
from demo.widgets.picker import create_checkpoint_picker
from models.outputs import FillMaskOutput, TaskOutput, WordStanding
from models.registry import Task

_TASK = Task.FILL_MASK
_LEAD = (
    "BERT learned language by filling blanks. Blank out a word, and it says which words it would put there. "
    "A blank is called a <em>mask</em>, written [MASK]."
)

_HINT = "Tap a word above to blank it out. <span class='keys'>Enter fills it; Shift+Enter starts a new line.</span>"


def create_fill_mask_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    example = recorded(_TASK)
    with shape.task_page(_TASK, "Fill the blank"):
        with shape.left_column():
            with shape.asking():
                text = shape.visitor_text(example.run.fields["text"])
                text_notice = create_notice()
                chips = gr.HTML(
                    token_chips(example.run.fields["text"]), js_on_load=CHOOSE_CHIP, elem_classes="chip-box"
                )
                buttons = shape.create_buttons(_TASK, "Fill the blank", _HINT, text)
            with shape.settings(_LEAD):
                top_k = shape.setting(_TASK, "top_k", example.run.fields["top_k"])
                word = gr.Textbox(
                    example.run.fields["word"], label="My word", info="how likely is a word of yours?", max_lines=1
                )
                picker = create_checkpoint_picker(_TASK)
        with shape.result():
            answer = gr.HTML(draw_answer(example.output), elem_classes="answer", label="Words for the blank")
            header, copy_link = shape.create_header(_TASK)
            reader = AttentionReader(service, session, example)
        fields = {"text": text, "top_k": top_k, "word": word}
        row = RunControls(picker, *buttons)
        hidden = gr.State(_masked_words(example.run.fields["text"]))

    def draw(_fields: Mapping[str, Any], output: TaskOutput) -> Updates:
        return {answer: draw_answer(output)}

    notices = {"text": text_notice}
    tab = TaskTab(_TASK, service, session, fields, notices, row, (answer,), header, copy_link, reader, draw)

    def choose(text: str, hidden: tuple[str, ...], event: gr.EventData) -> Updates:
        new_text, new_hidden = toggled(readable(text), hidden, int(event.index))
        return {text_box: new_text, hidden_words: new_hidden, chips: token_chips(new_text)}

    def retype(text: str, hidden: tuple[str, ...]) -> Updates:
        words = words_of(text)
        return {chips: token_chips(text), hidden_words: _masked_words(text) or aligned(tuple(hidden), words)}

    text_box, hidden_words = text, hidden
    # Whoever types another text, or blanks out another word, asks after another word, too.
    gr.on([text.input, chips.select], lambda: "", None, word, **QUICK)  # fmt: skip
    tab.connect([text.submit, word.submit])
    chips.select(choose, [text, hidden], [text, hidden, chips], **QUICK)
    text.change(retype, [text, hidden], [chips, hidden], trigger_mode="always_last", **QUICK)
    return tab


def draw_answer(output: TaskOutput) -> str:
    """Bars for each mask, the filled texts, and where the visitor's own word stands."""
    assert isinstance(output, FillMaskOutput)  # noqa: S101
    several = len(output.predictions) > 1
    masks = "".join(
        f"<section><h3>{f'Blank {number}' if several else 'Likeliest words'}</h3>"
        f"{bars(predictions, f'Likeliest words for blank {number}')}{_own_word(output.word, number - 1)}</section>"
        for number, predictions in enumerate(output.predictions, start=1)
    )
    filled = "".join(
        f"<li><bdi>{html.escape(each.text)}</bdi> <span class='quiet'>{percent(each.score)}</span></li>"
        for each in output.sequences
    )
    note = (
        "<p class='quiet'>Each blank is judged while the others are still blank; the numbers are multiplied.</p>"
        if several
        else ""
    )
    texts = (
        f"<details class='as-table'{' open' if several else ''}><summary>The text, filled</summary>"
        f'<ol class="texts">{filled}</ol>{note}</details>'
    )
    return f'<div class="{"columns" if several else ""}">{masks}</div>{texts}'


def _own_word(standings: tuple[WordStanding, ...], mask: int) -> str:
    if not standings:
        return ""
    standing = standings[mask]
    word = f"“<bdi>{html.escape(standing.word)}</bdi>”"
    if standing.probability is None or standing.rank is None:
        pieces = html.escape(" + ".join(piece.strip() for piece in standing.pieces))
        return (
            f"<p class='own-word'>{word} is not one token for this model ({pieces}), so it cannot fill one blank.</p>"
        )
    return (
        f"<p class='own-word'>The model gives {word} {percent(standing.probability)} of its probability: "
        f"number {standing.rank:,} on its list.</p>"
    )


def _masked_words(text: str) -> tuple[str, ...]:
    """The words behind the masks, where `text` is one of the examples."""
    return next((each.masked_words for each in examples_of(_TASK) if each.fields["text"] == text), ())
