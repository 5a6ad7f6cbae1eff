"""Try it: put another word in a word's place, or switch off a head or a layer, and compare the answers."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.attempt import Finished
from demo.components import Updates
from demo.components.compared import compared
from demo.messages import for_visitors
from demo.service import Changed, DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.explain.opening import opening
from models.outputs import MEAN, Token
from models.registry import Task
from models.text.words import is_content_word, word_text, words_of

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
    """What to change, the button, and both answers."""

    change: gr.Radio
    word: gr.Dropdown
    by: gr.Textbox
    button: gr.Button
    result: gr.HTML

    @property
    def outputs(self) -> list[Component]:
        """What another source changes."""
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
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=service.settings.concurrency,
            show_progress_on=self.result,
            api_visibility="private",
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

    change.change(ask, change, [word, by], queue=False, show_progress="hidden", api_visibility="private")
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
