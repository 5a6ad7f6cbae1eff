"""Fill the blank: the likeliest words at each mask, with a masked language model."""

import html

import gradio as gr

from demo.events import QUICK
from demo.language import N_, _
from demo.plots.reading import percent
from demo.recorded import examples_of
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets import PRESSED, Updates
from demo.widgets.bars import bars
from demo.widgets.chips import aligned, readable, toggled, token_chips, words_of
from models.outputs.base import TaskOutput
from models.outputs.encoders import FillMaskOutput, WordStanding
from models.registry import Task

_LEAD = N_(
    "BERT learned language by filling blanks. Blank out a word, and it says which words it would put there. "
    "A blank is called a <em>mask</em>, written [MASK]."
)
_HINT = N_("Tap a word above to blank it out. <span class='keys'>Enter fills it; Shift+Enter starts a new line.</span>")
_NOTE = N_("Each blank is judged while the others are still blank; the numbers are multiplied.")
_FILLED = N_("The text, filled")


def create_fill_mask_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.FILL_MASK, lambda _run, output, _step: draw_answer(output))
    given = tab.example.run.fields
    with tab.page():
        with left_column():
            with tab.asking(_("Fill the blank"), _(_HINT)):
                text = tab.create_text("text")
                chips = gr.HTML(token_chips(given["text"]), js_on_load=PRESSED, elem_classes="chip-box")
            with tab.settings(_(_LEAD)):
                tab.create_slider("top_k")
                word = gr.Textbox(
                    given["word"], label=_("My word"), info=_("how likely is a word of yours?"), max_lines=1
                )
                tab.fields["word"] = word
                tab.create_picker()
        with result():
            tab.create_answer(_("Words for the blank"))
            tab.create_reader()
        hidden = gr.State(_masked_words(given["text"]))

    def choose(typed: str, words: tuple[str, ...], event: gr.EventData) -> Updates:
        new_text, new_words = toggled(readable(typed), words, int(event.word))
        return {text: new_text, hidden: new_words, chips: token_chips(new_text)}

    def retype(typed: str, words: tuple[str, ...]) -> Updates:
        known = _masked_words(typed) or aligned(tuple(words), words_of(typed))
        return {chips: token_chips(typed), hidden: known}

    # The visitor's own word belongs to the old text and blank, so it is cleared for another.
    gr.on([text.input, chips.select], lambda: "", None, word, **QUICK)  # fmt: skip
    tab.connect()
    chips.select(choose, [text, hidden], [text, hidden, chips], **QUICK)
    text.change(retype, [text, hidden], [chips, hidden], trigger_mode="always_last", **QUICK)
    return tab


def draw_answer(output: TaskOutput) -> str:
    """Bars for each mask, the rank of the visitor's own word there, and the filled texts."""
    assert isinstance(output, FillMaskOutput)  # noqa: S101
    several = len(output.predictions) > 1
    masks = ""
    for number, predictions in enumerate(output.predictions, start=1):
        title = _("Blank {number}", number=number) if several else _("Likeliest words")
        likeliest = bars(predictions, _("Likeliest words for blank {number}", number=number))
        masks += f"<section><h3>{title}</h3>{likeliest}{_own_word(output.word, number - 1)}</section>"
    filled = "".join(
        f"<li><bdi>{html.escape(each.text)}</bdi> <span class='quiet'>{percent(each.score)}</span></li>"
        for each in output.sequences
    )
    note = f"<p class='quiet'>{_(_NOTE)}</p>" if several else ""
    texts = (
        f"<details class='as-table'{' open' if several else ''}><summary>{_(_FILLED)}</summary>"
        f'<ol class="texts">{filled}</ol>{note}</details>'
    )
    return f'<div class="{"columns" if several else ""}">{masks}</div>{texts}'


def _own_word(standings: tuple[WordStanding, ...], mask: int) -> str:
    if not standings:
        return ""
    standing = standings[mask]
    word = html.escape(standing.word)
    if standing.probability is None or standing.rank is None:
        said = _(
            "“<bdi>{word}</bdi>” is not one token for this model ({pieces}), so it cannot fill one blank.",
            word=word,
            pieces=html.escape(" + ".join(piece.strip() for piece in standing.pieces)),
        )
    else:
        said = _(
            "The model gives “<bdi>{word}</bdi>” {share} of its probability: number {rank:,} on its list.",
            word=word,
            share=percent(standing.probability),
            rank=standing.rank,
        )
    return f"<p class='own-word'>{said}</p>"


def _masked_words(text: str) -> tuple[str, ...]:
    """The words that the masks replaced if `text` is one of the examples; else none."""
    return next((each.masked_words for each in examples_of(Task.FILL_MASK) if each.fields["text"] == text), ())
