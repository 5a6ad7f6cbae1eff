"""Try it: switch off a head or a layer, or put another word in a token's place, and compare the answers."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.attention import AttentionSource
from demo.components import Updates
from demo.messages import for_visitors
from demo.plots.change import what_changed
from demo.plots.template import label
from demo.service import Changed, DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.outputs import MEAN, TaskOutput, Token

DrawAnswer = Callable[[AttentionSource, TaskOutput], str]
"""An answer as its tab draws it, as HTML."""

_HELP = (
    '<p class="quiet">Change one thing and let the model answer again. If the answer stays, what you changed was not '
    "needed for it.</p>"
)
_CHANGES = [
    ("Switch off the head above", "head"),
    ("Switch off the whole layer above", "layer"),
    ("Replace a token", "token"),
]


@dataclass(frozen=True, eq=False)
class TryIt:
    """What to change, the button, and both answers."""

    change: gr.Radio
    token: gr.Dropdown
    by: gr.Textbox
    button: gr.Button
    result: gr.HTML

    @property
    def outputs(self) -> list[Component]:
        """What another source changes."""
        return [self.token, self.result]

    def offer(self, tokens: Sequence[Token]) -> Updates:
        """The updates for another text: its tokens, and no answers yet."""
        choices = _choices(tokens)
        return {self.token: gr.update(choices=choices, value=choices[0][1] if choices else None), self.result: ""}

    def connect(self, service: DemoService, source: gr.State, chosen: Sequence[Component], draw: DrawAnswer) -> None:
        """Let the button compare; `chosen` are the reader's kind, way of reading heads, layer and head."""

        def compare(
            change: str, token: int, by: str, source: AttentionSource, kind: str, how: str, layer: int, head: int
        ) -> str:
            try:
                if change == "token":
                    changed = service.replace_token(source, int(token), by)
                    said = f"“{by.strip() or 'a blank'}” there"
                else:
                    changed, said = _switched_off(service, source, change, kind, how, int(layer), int(head))
            except InputError as error:
                return f'<p role="alert">{html.escape(error.sentence)}</p>'
            return compared(changed, draw, source, said)

        self.button.click(
            for_visitors(compare),
            [self.change, self.token, self.by, source, *chosen],
            self.result,
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=service.settings.concurrency,
            show_progress_on=self.result,
            api_visibility="private",
        )


def create_try_it(tokens: Sequence[Token]) -> TryIt:
    """A folded section for a text of these tokens."""
    choices = _choices(tokens)
    with gr.Accordion("Try it: change one thing and compare", open=False, elem_classes="tool"):
        gr.HTML(_HELP)
        change = gr.Radio(_CHANGES, value="head", label="What to change")
        with gr.Row(elem_classes="tool-row"):
            token = gr.Dropdown(choices, value=choices[0][1] if choices else None, label="Which token", visible=False)
            by = gr.Textbox("", label="What to put there", info="empty: a blank", max_lines=1, visible=False)
            button = gr.Button("Compare", scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label="Both answers")

    def ask(change: str) -> Updates:
        return {each: gr.update(visible=change == "token") for each in (token, by)}

    change.change(ask, change, [token, by], queue=False, show_progress="hidden", api_visibility="private")
    return TryIt(change, token, by, button, result)


def compared(changed: Changed, draw: DrawAnswer, source: AttentionSource, said: str) -> str:
    """Both answers side by side, and what is different."""
    answers = "".join(
        f"<section><h3>{html.escape(name)}</h3>{draw(of, output)}</section>"
        for name, of, output in (("Before", source, changed.before), (f"With {said}", changed.source, changed.after))
    )
    difference = html.escape(what_changed(changed.before, changed.after))
    return f'<p class="read-out" role="status">{difference}</p><div class="columns compared">{answers}</div>'


def _switched_off(
    service: DemoService, source: AttentionSource, change: str, kind: str, how: str, layer: int, head: int
) -> tuple[Changed, str]:
    """The answers with and without what the reader shows, and what was switched off."""
    if how == "head":
        # A head has a layer: 0, all layers, is what the slider still says until the reader has moved it on.
        layer = max(layer, 1)
    if layer < 1 or (change == "head" and how != "head"):
        raise InputError(f"Choose {'a layer' if change == 'layer' else 'one head'} above first, then compare.")
    if change == "layer":
        return service.ablate(source, layer - 1, MEAN, kind), f"layer {layer} switched off"
    return service.ablate(source, layer - 1, head - 1, kind), f"layer {layer}, head {head} switched off"


def _choices(tokens: Sequence[Token]) -> list[tuple[str, int]]:
    return [(f"{place}: {label(token)}", place) for place, token in enumerate(tokens) if not token.is_mark]
