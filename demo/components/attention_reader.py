"""The attention reader: one component for every task and every kind of attention, under every answer."""

import html
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.attention import AttentionSource
from demo.components import Updates
from demo.components.figure import drawn
from demo.messages import for_visitors
from demo.plots.heatmap import DRAWN_WHOLE, attention_heatmap
from demo.plots.reading import read_out
from demo.plots.view import AttentionView, view_of
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError

KINDS = {
    "encoder": "Within the text it reads (encoder)",
    "decoder": "Within the text it writes (decoder)",
    "cross": "From each written word to the text (cross-attention)",
}
_HELP = """<h2>What it looked at</h2>
<p class="quiet">To work out a token (a word or a piece of one), the model mixes in others. Each row shares out
100&nbsp;% of one token’s weight over the tokens in the columns; darker is more. A layer is one round of mixing, and a
head is one of several mixers in it. (The papers call rows queries and columns keys.)</p>"""
_CAUTION = (
    '<p class="quiet">Attention is not an explanation: it shows where numbers flow, not why the answer is what it is. '
    "Full stops, first words and the marks [CLS] and [SEP] around a text often collect weight that no word needs.</p>"
)
_HATCHED = '<p class="quiet">Hatched: masked. A model that writes may not look at what comes later.</p>'


@dataclass(frozen=True, eq=False)
class AttentionReader:
    """The controls and the picture: `source` is whose attention to show, `shown` whose is on the picture."""

    service: DemoService
    source: gr.State
    shown: gr.State
    kind: gr.Radio
    layer: gr.Slider
    head: gr.Slider
    plot: gr.Plot
    sentence: gr.HTML

    def show(self, view: AttentionView) -> Updates:
        """The updates that show `view`; sliders count from 1, and 0 is the mean."""
        return {
            self.kind: gr.update(choices=_choices(view.kinds), value=view.kind, visible=len(view.kinds) > 1),
            self.layer: gr.update(value=view.layer + 1, maximum=view.layers),
            self.head: gr.update(value=view.head + 1, maximum=view.heads),
            **self.draw(view),
        }

    def draw(self, view: AttentionView) -> Updates:
        """The updates that redraw the picture alone."""
        return {
            self.plot: gr.update(value=drawn(attention_heatmap(view)), visible=True),
            self.sentence: said(view),
        }

    def see(self, source: AttentionSource, kind: str, layer: int, head: int) -> AttentionView:
        """The view that the controls ask for, captured if need be; raises `InputError`."""
        return view_of(self.service.attention(source), kind, int(layer) - 1, int(head) - 1)

    def follow(self, event: Dependency) -> None:
        """Redraw when `event` has set another source: the answer is shown first, and attention comes after it."""

        def redraw(source: AttentionSource, shown: AttentionSource, kind: str, layer: int, head: int) -> Updates:
            if source == shown:
                return {self.shown: shown}
            try:
                return {**self.show(self.see(source, kind, layer, head)), self.shown: source}
            except InputError as error:
                return self.fail(error)

        controls: list[Component] = [self.kind, self.layer, self.head]
        event.then(
            for_visitors(redraw),
            [self.source, self.shown, *controls],
            [self.shown, *controls, self.plot, self.sentence],
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=self.service.settings.concurrency,
            show_progress_on=self.plot,
            api_visibility="private",
        )

    def fail(self, error: InputError) -> Updates:
        """The updates for attention that cannot be had."""
        sentence = f'<p role="alert">{html.escape(error.sentence)}</p>'
        return {self.plot: gr.update(visible=False), self.sentence: sentence}


def create_attention_reader(service: DemoService, source: AttentionSource, view: AttentionView) -> AttentionReader:
    """A reader that opens on `view`; its controls capture the attention of `source` when they are first moved."""
    with gr.Column(elem_classes="reader"), gr.Row(elem_classes="reader-body"):
        with gr.Column(elem_classes="reader-controls", min_width=240):
            gr.HTML(_HELP)
            kind = gr.Radio(
                choices=_choices(view.kinds), value=view.kind, visible=len(view.kinds) > 1, label="Which attention"
            )
            layer = gr.Slider(0, view.layers, view.layer + 1, step=1, label="Layer", info="0 is the mean of all")
            head = gr.Slider(0, view.heads, view.head + 1, step=1, label="Head", info="0 is the mean of all")
        plot = gr.Plot(
            drawn(attention_heatmap(view)),
            label="Attention heatmap",
            show_label=False,
            container=False,
            elem_classes="heatmap-frame",
        )
    with gr.Column():
        sentence = gr.HTML(said(view), elem_classes="reading")
        gr.HTML(_CAUTION)
    reader = AttentionReader(service, gr.State(source), gr.State(source), kind, layer, head, plot, sentence)

    def choose(source: AttentionSource, kind: str, layer: int, head: int) -> Updates:
        try:
            return reader.show(reader.see(source, kind, layer, head))
        except InputError as error:
            return reader.fail(error)

    def redraw(source: AttentionSource, kind: str, layer: int, head: int) -> Updates:
        try:
            return reader.draw(reader.see(source, kind, layer, head))
        except InputError as error:
            return reader.fail(error)

    controls, picture = [kind, layer, head], [plot, sentence]
    redrawing: dict[str, Any] = {
        "queue": False,
        "show_progress": "minimal",
        "show_progress_on": sentence,
        "trigger_mode": "always_last",
        "api_visibility": "private",
    }
    kind.input(for_visitors(choose), [reader.source, *controls], [*controls, *picture], **redrawing)
    gr.on([layer.input, head.input], for_visitors(redraw), [reader.source, *controls], picture, **redrawing)
    return reader


def said(view: AttentionView) -> str:
    """The sentence under the picture, and what a reader must know to trust it."""
    tokens = max(len(view.query_tokens), len(view.key_tokens))
    thinned = (
        f"<p class='quiet'>{tokens} tokens are more than {DRAWN_WHOLE}, so only some are named on the axes; point at "
        "a cell to read its tokens, drag over an area to come closer, double-click to go back.</p>"
        if tokens > DRAWN_WHOLE
        else ""
    )
    hatched = _HATCHED if view.masked.any() else ""
    return f'<p class="read-out" aria-live="polite">{html.escape(read_out(view))}</p>{hatched}{thinned}'


def _choices(kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(KINDS.get(kind, kind), kind) for kind in kinds]
