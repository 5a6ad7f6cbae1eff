"""The attention reader: one component for every task and every kind of attention, under every answer."""

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.attempt import Finished
from demo.attention import AttentionSource
from demo.components import Updates
from demo.components.attention_table import KEEP_OPEN
from demo.components.coloured_sentence import coloured_sentence, colouring
from demo.components.figure import drawn
from demo.components.head_sheet import sheet_of
from demo.components.held import held
from demo.components.read_out import said
from demo.components.reader_controls import ReaderControls, create_reader_controls
from demo.components.reader_tools import ReaderTools, create_reader_tools
from demo.components.taken import Taken
from demo.components.try_it import DrawAnswer
from demo.messages import for_visitors
from demo.plots.heatmap import attention_heatmap
from demo.plots.roles import role_of
from demo.plots.shown import shown, so_far
from demo.plots.view import AttentionView, view_of
from demo.recorded import Recorded
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from demo.share import Place
from models.errors import InputError

_HELP = """<h2>What it looked at</h2>
<p class="quiet">To work out a word, the model mixes in others: it shares out 100&nbsp;% of weight among them,
its <em>attention</em>. A <em>layer</em> is one round of mixing, and a <em>head</em> one of several mixers in it.</p>"""


@dataclass(frozen=True, eq=False)
class AttentionReader:
    """The controls and the pictures: `source` is whose attention to show, `shown` whose is in the pictures.

    `not_yet` is how many tokens at the end of what the model wrote are left out, for a walk through its steps;
    `finished` is the run itself, and `example` what the reader opens on.
    """

    service: DemoService
    example: Recorded
    source: gr.State
    finished: gr.State
    shown: gr.State
    not_yet: gr.State
    controls: ReaderControls
    sentence: gr.HTML
    plot: gr.Plot
    reading: gr.HTML
    tools: ReaderTools

    @property
    def asked(self) -> list[Component]:
        """What handlers need to know to draw: whose attention, how much of it, whether the sheet shows, and how."""
        return [self.source, self.not_yet, self.tools.sheet.unfolded, *self.controls.inputs]

    @property
    def subject(self) -> list[Component]:
        """What another run changes before its attention is there."""
        return [self.source, self.finished, self.not_yet]

    @property
    def pictures(self) -> list[Component]:
        """What another layer or head changes."""
        return [self.sentence, self.plot, self.reading]

    @property
    def all(self) -> list[Component]:
        """What another source or kind changes."""
        return [*self.controls.inputs, *self.pictures, self.tools.sheet.picture]

    def turn_to(self, finished: Finished, own: bool = True) -> Updates:
        """The updates that make `finished` the run to read; one that is not the visitor's `own` has no id here."""
        run = replace(finished.run, id=finished.run.id if own else "", session_id="", answer=None)
        return {self.source: finished.source, self.finished: replace(finished, run=run), self.not_yet: 0}

    def turn_to_place(self, place: Place, written: int) -> Updates:
        """The updates that set the controls as `place` says, for a run that wrote so many tokens; drawing follows."""
        return {
            **self.controls.turn_to(place, self.example.view.kinds),
            self.not_yet: max(0, written - place.step) if place.step else 0,
            # Even a run with the same text is drawn anew, for it may be at another place.
            self.shown: None,
        }

    def draw(self, view: AttentionView, words: bool = True, specials: bool = True, not_yet: int = 0) -> Updates:
        """The updates that redraw the pictures of `view`, up to the last `not_yet` tokens."""
        seen = shown(view, words, specials, not_yet)
        return {
            self.sentence: gr.update(value=coloured_sentence(seen), visible=True),
            self.plot: gr.update(value=drawn(attention_heatmap(seen)), visible=True),
            self.reading: said(seen, role_of(so_far(view, not_yet))),
        }

    def see(self, source: AttentionSource, kind: str, how: str, layer: int, head: int) -> AttentionView:
        """The view that the controls ask for, captured if need be; raises `InputError`."""
        first = self.example.view
        at_first = (kind, how, layer) == (first.kind, first.how, first.layer + 1)
        if source == self.example.source and at_first and (how != "head" or head == first.head + 1):
            # The numbers that the page opened on stay what they were; another machine might round them otherwise.
            return first
        attentions = self.service.attention(source)
        if how == "head":
            there = attentions[kind if kind in attentions else next(iter(attentions))]
            # Another model may have fewer of them.
            layer, head = min(max(layer, 1), there.layers), min(max(head, 1), there.heads)
        return view_of(attentions, kind, int(layer) - 1, int(head) - 1, how)

    def walk(self, step: Component, event: Dependency) -> None:
        """After `event`, show attention as it was when written token `step`, counted from 1, had just been written."""

        def go(step: int, source: AttentionSource) -> int:
            return max(0, len(source.written) - int(step))

        event.then(
            go, [step, self.source], self.not_yet, queue=False, show_progress="hidden", api_visibility="private"
        ).then(self._drawing(self._redraw), self.asked, self.pictures, **self._quick)

    def follow(self, event: Dependency) -> None:
        """Redraw when `event` has set another source: the answer is shown first, and attention comes after it."""

        def redraw(
            shown: AttentionSource | None, source: AttentionSource, not_yet: int, unfolded: bool, *controls: Any
        ) -> Updates:
            if source == shown:
                return {self.shown: shown}
            draw = self._drawing(self._show)
            return {
                **self.tools.forget(self.service, source),
                **draw(source, not_yet, unfolded, *controls),
                self.shown: source,
            }

        event.then(
            for_visitors(redraw),
            [self.shown, *self.asked],
            [self.shown, *self.all, *self.tools.outputs],
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=self.service.settings.concurrency,
            show_progress_on=self.plot,
            api_visibility="private",
        )

    def compare(self, draw: DrawAnswer) -> None:
        """Let visitors compare answers, which `draw` draws as the tab does."""
        self.tools.compare(self.service, self.source, self.controls, draw)

    def take_away(self, session: gr.BrowserState) -> None:
        """Let visitors take home what they see, and share it."""

        def take(
            finished: Finished,
            source: AttentionSource,
            not_yet: int,
            _unfolded: bool,
            kind: str,
            how: str,
            layer: int,
            head: int,
            words: bool,
            specials: bool,
        ) -> Taken:
            view = self.see(source, kind, how, layer, head)
            step = len(source.written) - not_yet if not_yet else 0
            place = Place(view.kind, view.how, view.layer + 1, max(view.head + 1, 1), words, specials, step)
            role = role_of(so_far(view, not_yet))
            return Taken(finished, shown(view, words, specials, not_yet), place, role)

        self.tools.take_away.connect(self.service, session, take, [self.finished, *self.asked])

    def connect(self) -> None:
        """Let the controls and the sheet redraw what they change."""
        controls, show, redraw = self.controls, self._drawing(self._show), self._drawing(self._redraw)
        gr.on([controls.kind.input, controls.how.input], show, self.asked, self.all, **self._quick)
        gr.on(
            [each.input for each in (controls.layer, controls.head, controls.words, controls.specials)],
            redraw,
            self.asked,
            self.pictures,
            **self._quick,
        )

        def open_head(
            event: gr.EventData,
            source: AttentionSource,
            not_yet: int,
            _unfolded: bool,
            kind: str,
            _how: str,
            _layer: int,
            _head: int,
            words: bool,
            specials: bool,
        ) -> Updates:
            view = self.see(source, kind, "head", int(event.layer) + 1, int(event.head) + 1)
            return {**controls.show(view), **self.draw(view, words, specials, not_yet)}

        self.tools.sheet.picture.select(
            for_visitors(open_head), self.asked, [*controls.inputs, *self.pictures], **self._quick
        )
        self.tools.connect(self.service, self.source, controls, self.see)

    def _show(
        self,
        source: AttentionSource,
        not_yet: int,
        unfolded: bool,
        kind: str,
        how: str,
        layer: int,
        head: int,
        words: bool,
        specials: bool,
    ) -> Updates:
        view = self.see(source, kind, how, layer, head)
        picture = sheet_of(self.service, source, view.kind) if unfolded else ""
        return {
            **self.controls.show(view),
            **self.draw(view, words, specials, not_yet),
            self.tools.sheet.picture: picture,
        }

    def _redraw(
        self,
        source: AttentionSource,
        not_yet: int,
        _unfolded: bool,
        kind: str,
        how: str,
        layer: int,
        head: int,
        words: bool,
        specials: bool,
    ) -> Updates:
        return self.draw(self.see(source, kind, how, layer, head), words, specials, not_yet)

    def _drawing(self, handler: Callable[..., Updates]) -> Callable[..., Updates]:
        """`handler` with attention that cannot be had told where the pictures would stand."""

        def draw(*asked: Any) -> Updates:
            try:
                return handler(*asked)
            except InputError as error:
                sentence = f'<p role="alert">{html.escape(error.sentence)}</p>'
                hidden = gr.update(visible=False)
                return {self.sentence: hidden, self.plot: hidden, self.reading: sentence}

        return for_visitors(draw)

    @property
    def _quick(self) -> dict[str, Any]:
        """How events run that need no model, or one that is in memory already."""
        return {
            "queue": False,
            "show_progress": "hidden",
            "trigger_mode": "always_last",
            "api_visibility": "private",
        }


def create_attention_reader(service: DemoService, example: Recorded) -> AttentionReader:
    """A reader that opens on a recorded view; its controls capture the rest when they are first moved."""
    source, view = example.source, example.view
    seen = shown(view)
    with gr.Column(elem_classes="reader"):
        gr.HTML(_HELP)
        sentence = gr.HTML(
            coloured_sentence(seen), js_on_load=colouring(), elem_classes="sentence-box", label="The text, coloured"
        )
        with gr.Row(elem_classes="reader-body"):
            controls = create_reader_controls(view)
            plot = gr.Plot(
                drawn(attention_heatmap(seen)),
                label="Attention heatmap",
                show_label=False,
                container=False,
                elem_classes="heatmap-frame",
            )
        reading = gr.HTML(said(seen, role_of(view)), js_on_load=KEEP_OPEN, elem_classes="reading")
        tools = create_reader_tools(source, view)
    reader = AttentionReader(
        service,
        example,
        held(source),
        held(Finished(example.run, example.output, source)),
        held(source),
        gr.State(0),
        controls,
        sentence,
        plot,
        reading,
        tools,
    )
    reader.connect()
    return reader
