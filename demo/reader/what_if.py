"""What if: a head switched off, or a word replaced, and both answers side by side."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, for_visitors, in_line
from demo.plots.change import ShareChange, share_changes, what_changed, written
from demo.plots.reading import percent
from demo.runs import Changed, DemoService, Finished
from demo.widgets import Updates
from models.errors import InputError
from models.explain.opening import opening
from models.outputs import MEAN, TaskOutput, Token
from models.registry import Task
from models.text.words import is_content_word, word_text, words_of


def compared(before: TaskOutput, after: TaskOutput, said: str) -> str:
    """A sentence on the change, then both answers; `said` names what the second one was given."""
    finding = f'<p class="read-out" role="status">{html.escape(what_changed(before, after))}</p>'
    changes = share_changes(before, after)
    name = f"With {said}"
    return finding + (_shares(changes, name) if changes else _texts(written(before), written(after), name))


def side_by_side(first: str, second: str, names: tuple[str, str]) -> str:
    """Two texts in columns, the words of each that the other has not in `<mark>`."""
    words = first.split(" "), second.split(" ")
    blocks = SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks()
    shared = (
        {block.a + offset for block in blocks for offset in range(block.size)},
        {block.b + offset for block in blocks for offset in range(block.size)},
    )
    sides = "".join(
        f"<section><h4>{html.escape(name)}</h4><p class='written'><bdi>{_marked(text, same)}</bdi></p></section>"
        for name, text, same in zip(names, words, shared, strict=True)
    )
    return f'<div class="columns forked compared">{sides}</div>'


def _texts(before: str, after: str, name: str) -> str:
    return side_by_side(before, after, ("Before", name))


def _marked(words: Sequence[str], same: set[int]) -> str:
    """The words with spaces between them, runs of those that are not the `same` marked."""
    text, marking = "", False
    for place, word in enumerate(words):
        differs = place not in same
        text += ("</mark>" if marking and not differs else "") + (" " if place else "")
        text += ("<mark>" if differs and not marking else "") + html.escape(word)
        marking = differs
    return text + ("</mark>" if marking else "")


def _shares(changes: Sequence[ShareChange], name: str) -> str:
    """A table for each blank, the candidates down and both shares across."""
    tables = []
    blanks = sorted({change.blank for change in changes})
    for blank in blanks:
        rows = [change for change in changes if change.blank == blank]
        best = tuple(max(getattr(row, side) or 0.0 for row in rows) for side in ("before", "after"))
        caption = f"<caption>Blank {blank}</caption>" if len(blanks) > 1 else ""
        tables.append(
            f'<table class="step-table compared">{caption}<thead><tr><th scope="col"><span class="sr-only">'
            f'answer</span></th><th scope="col">Before</th><th scope="col">{html.escape(name)}</th></tr></thead>'
            f"<tbody>{''.join(_row(row, best) for row in rows)}</tbody></table>"
        )
    return "".join(tables)


def _row(row: ShareChange, best: tuple[float, ...]) -> str:
    text = f"<bdi>{html.escape(row.text) or '∅'}</bdi>"
    name = f"<mark>{text}</mark>" if row.before is None or row.after is None else text
    before = _cell(row.before, row.before == best[0])
    return f'<tr><th scope="row">{name}</th>{before}{_cell(row.after, row.after == best[1], _way(row))}</tr>'


def _way(row: ShareChange) -> str:
    """Up or down, where both shares are known and do not read alike."""
    if row.before is None or row.after is None or percent(row.before) == percent(row.after):
        return ""
    up = row.after > row.before
    return f"<span class='way' aria-label='{'more' if up else 'less'} than before'>{'▲' if up else '▼'}</span> "


def _cell(share: float | None, best: bool, way: str = "") -> str:
    if share is None:
        return "<td><span class='quiet'>not among them</span></td>"
    return (
        f"<td{' class=wins' if best else ''}><span class='step-number'>{way}{percent(share)}</span>"
        f"<span class='step-bar' aria-hidden='true'><span style='width:{100 * share:.2f}%'></span></span></td>"
    )


_HELP = (
    '<p class="quiet">Change one thing and let the model answer again. If the answer stays, what you changed was not '
    "needed for it.</p>"
)
_CHANGES = [
    ("Replace a word", "word"),
    ("Switch off the head above", "head"),
    ("Switch off the whole layer above", "layer"),
]
_WITH_BLANKS = (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING)


@dataclass(frozen=True, eq=False)
class TryIt:
    """The fields for the change, the button, and both answers."""

    change: gr.Radio
    word: gr.Dropdown
    by: gr.Textbox
    button: gr.Button
    result: gr.HTML

    @property
    def outputs(self) -> list[Component]:
        """The components that another source changes."""
        return [self.word, self.result]

    def offer(self, tokens: Sequence[Token], first: int = -1) -> Updates:
        """The updates for another text: its words, the one with token `first` chosen, and no answers yet."""
        choices = _choices(tokens)
        return {self.word: gr.update(choices=choices, value=_first(tokens, choices, first)), self.result: ""}

    def connect(self, service: DemoService, finished: gr.State, place: Sequence[Component]) -> None:
        """Let the button compare; `place` are the reader's kind, way of reading heads, layer and head."""

        def compare(
            change: str, word: str, by: str, finished: Finished, kind: str, _how: str, layer: int, head: int
        ) -> str:
            try:
                if change == "word":
                    changed, said = _replaced(service, finished, word, by)
                else:
                    changed, said = _switched_off(service, finished, change, kind, int(layer), int(head))
            except InputError as error:
                return f'<p role="alert">{html.escape(error.sentence)}</p>'
            return compared(changed.before, changed.after, said)

        gr.on(
            [self.button.click, self.by.submit],
            for_visitors(compare),
            [self.change, self.word, self.by, finished, *place],
            self.result,
            show_progress_on=self.result,
            **in_line(service.settings),
        )


def create_try_it(task: Task, tokens: Sequence[Token], first: int = -1) -> TryIt:
    """A folded section for a text of these tokens; it begins with the word that has token `first`."""
    choices = _choices(tokens)
    with gr.Accordion("Try it: change one thing and compare", open=False, elem_classes="tool"):
        gr.HTML(_HELP)
        change = gr.Radio(_CHANGES, value="word", label="What to change")
        with gr.Row(elem_classes="tool-row"):
            word = gr.Dropdown(choices, value=_first(tokens, choices, first), label="Which word")
            empty = "empty: a blank" if task in _WITH_BLANKS else "empty: the word is left out"
            by = gr.Textbox("", label="What to put there", info=empty, max_lines=1)
            button = gr.Button("Compare", scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label="Both answers")

    def ask(change: str) -> Updates:
        return {each: gr.update(visible=change == "word") for each in (word, by)}

    change.change(ask, change, [word, by], **QUICK)
    return TryIt(change, word, by, button, result)


def _replaced(service: DemoService, finished: Finished, word: str, by: str) -> tuple[Changed, str]:
    """The answers with the old and with the new word, and what was put there."""
    if not word:
        raise InputError("This text has no word to replace.")
    first, _, last = word.partition("-")
    changed = service.replace_token(finished.source, int(first), by, int(last))
    nothing = "a blank there" if finished.run.task in _WITH_BLANKS else "that word left out"
    return changed, f"“{by.strip()}” there" if by.strip() else nothing


def _switched_off(
    service: DemoService, finished: Finished, change: str, kind: str, layer: int, head: int
) -> tuple[Changed, str]:
    """The answers with and without what the reader shows, and what was switched off.

    Where the reader shows all layers together, it is the layer and head that the reader opens on.
    """
    if layer < 1:
        attentions = service.attention(finished.source)
        opened = opening(finished.output, attentions[kind if kind in attentions else next(iter(attentions))])
        layer, head = opened.layer + 1, opened.head + 1
    if change == "layer":
        return service.ablate(finished.source, layer - 1, MEAN, kind), f"layer {layer} switched off"
    return service.ablate(finished.source, layer - 1, head - 1, kind), f"layer {layer}, head {head} switched off"


def _choices(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """The words of a text, numbered as they stand, each with the places of its first and last token."""
    return [
        (f"{number}: {word_text(tokens, word)}", f"{word[0]}-{word[-1]}")
        for number, word in enumerate(words_of(tokens))
        if not tokens[word[0]].is_mark and not tokens[word[0]].is_blank
    ]


def _first(tokens: Sequence[Token], choices: Sequence[tuple[str, str]], place: int) -> str | None:
    """The choice with the token at `place`, else the first content word, else the first word."""
    found = {value: tuple(map(int, value.split("-"))) for _, value in choices}
    chosen = [value for value, (first, last) in found.items() if first <= place <= last]
    content = [
        value for value, (first, last) in found.items() if is_content_word(word_text(tokens, range(first, last + 1)))
    ]
    return next(iter([*chosen, *content, *found]), None)
