"""The attention reader: what the model looked at, for one token, layer and head or for many."""

import html
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.events import QUICK, for_visitors, in_line
from demo.looks import AttentionSource
from demo.plots.heatmap import attention_heatmap
from demo.plots.roles import role_of
from demo.plots.view import AttentionView, shown, so_far, view_of
from demo.reader.controls import (
    ReaderControls,
    create_head_choice,
    create_text_choice,
)
from demo.reader.export import Taken
from demo.reader.heads import head_agreement, sheet
from demo.reader.sentence import coloured_sentence, colouring, said
from demo.reader.table import KEEP_OPEN
from demo.reader.tools import ReaderTools, create_reader_tools
from demo.recorded import Recorded
from demo.runs import DemoService, Finished
from demo.sharing import ReaderSettings
from demo.widgets import Updates
from demo.widgets.figure import drawn
from demo.widgets.glossary import with_terms
from demo.widgets.notice import held
from demo.writing.text import decided_strip
from models.errors import InputError
from models.explain.opening import opening
from models.outputs import Attention, Attentions
from models.text.words import words_of

_HELP = """<h2 class="reader-title">What it looked at</h2>"""
_ABOUT = """<p class="quiet">To work out a word, the model mixes in others: it shares out 100&nbsp;% of weight among
them, its <em>attention</em>. A <em>layer</em> is one round of mixing, and a <em>head</em> one of several mixers in
it.</p>"""


@dataclass(frozen=True)
class Asked:
    """The values of a reader's components: layers and heads count from 1, layer 0 is all of them.

    `not_yet` is how many tokens at the end of what the model wrote are left out, for a walk through its steps; `word`
    is the place of the chosen word among the rows, -1 for the one to begin with; `unfolded` whether the sheet shows.
    """

    finished: Finished
    not_yet: int
    word: int
    unfolded: bool
    kind: str
    how: str
    layer: int
    head: int
    words: bool
    damped: bool


@dataclass(frozen=True, eq=False)
class AttentionReader:
    """The controls and the pictures: `finished` is the run to read, `shown` whose attention is in the pictures.

    `chosen` says whether the visitor, a link or a lecture chose what to show; until then each run opens on the token
    and the head that say most. `not_yet` and `word` are as in `Asked`. `missed` changes when a redraw found its
    attention no longer in memory. `example` is what the reader opens on. `decided` is the strip under a completion,
    which follows the run as the pictures do.
    """

    service: DemoService
    example: Recorded
    finished: gr.State
    shown: gr.State
    chosen: gr.State
    not_yet: gr.State
    word: gr.State
    missed: gr.Textbox
    controls: ReaderControls
    sentence: gr.HTML
    plot: gr.Plot
    reading: gr.HTML
    tools: ReaderTools
    decided: gr.HTML | None = None

    @property
    def asked(self) -> list[Component]:
        """The fields of `Asked`, in their order."""
        return [self.finished, self.not_yet, self.word, self.tools.sheet.unfolded, *self.controls.inputs]

    @property
    def subject(self) -> list[Component]:
        """The components that another run changes before its attention is there."""
        return [self.finished, self.not_yet, self.word, *self._strip]

    @property
    def pictures(self) -> list[Component]:
        """The components that another layer or head changes."""
        return [self.sentence, self.plot, self.reading]

    @property
    def all(self) -> list[Component]:
        """The components that another source or kind changes."""
        return [*self.controls.inputs, *self.pictures, *self.tools.sheet.outputs]

    def turn_to(self, finished: Finished, own: bool = True) -> Updates:
        """The updates that make `finished` the run to read; one that is not the visitor's `own` has no id here."""
        run = replace(finished.run, id=finished.run.id if own else "", session_id="", answer=None)
        return {self.finished: replace(finished, run=run), self.not_yet: 0, self.word: -1} | dict.fromkeys(
            self._strip, ""
        )

    def turn_to_place(self, place: ReaderSettings, written: int) -> Updates:
        """The updates that set the controls as `place` says, for a run that wrote so many tokens; drawing follows."""
        return {
            **self.controls.turn_to(place, self.example.view.kinds),
            self.not_yet: max(0, written - place.step) if place.step else 0,
            self.chosen: True,
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

    def see(self, finished: Finished, kind: str, how: str, layer: int, head: int) -> AttentionView:
        """The view that the controls ask for, captured if need be; raises `InputError`.

        One head of layer 0, which is all layers, is the head that the reader opens on.
        """
        first = self.example.view
        at_first = (kind, how) == (first.kind, first.how) and layer in (0, first.layer + 1)
        if finished.source == self.example.source and at_first and (not layer or head == first.head + 1):
            # The numbers that the page opened on stay what they were; another machine might round them otherwise.
            return first
        attentions = self.service.attention(finished.source)
        there = _of_kind(attentions, kind)
        opened = opening(finished.output, there)
        if how == "head" and not layer:
            layer, head = opened.layer + 1, opened.head + 1
        elif how == "head":
            # Another model may have fewer of them.
            layer, head = min(layer, there.layers), min(max(head, 1), there.heads)
        return view_of(attentions, there.kind, int(layer) - 1, int(head) - 1, how, opened)

    def walk(self, step: Component, event: Dependency) -> None:
        """After `event`, show attention as it was when written token `step`, counted from 1, had just been written."""

        def go(step: int, finished: Finished) -> int:
            return max(0, len(finished.source.written) - int(step))

        event.then(go, [step, self.finished], self.not_yet, **QUICK).then(
            self._at_once(self._redraw), self.asked, [*self.pictures, self.missed], **self._quick
        )

    def follow(self, event: Dependency) -> None:
        """Redraw when `event` has set another run: the answer is shown first, and attention comes after it."""

        def redraw(shown: AttentionSource | None, chosen: bool, *values: Any) -> Updates:
            asked = Asked(*values)
            source = asked.finished.source
            if source == shown:
                return {self.shown: shown, **self._decided(asked.finished)}
            if not chosen:
                asked = replace(asked, kind="", how="head", layer=0)
            return {
                **self.tools.forget(self.service, asked.finished),
                **self._drawing(self._show)(asked),
                **self._decided(asked.finished),
                self.shown: source,
            }

        event.then(
            for_visitors(redraw),
            [self.shown, self.chosen, *self.asked],
            [self.shown, *self.all, *self.tools.outputs, *self._strip],
            show_progress_on=self.plot,
            **in_line(self.service.settings),
        )

    def take_away(self, session: gr.BrowserState) -> None:
        """Let visitors take home what they see, and share it."""

        def take(*values: Any) -> Taken:
            asked = Asked(*values)
            finished, not_yet = asked.finished, asked.not_yet
            view = self.see(finished, asked.kind, asked.how, asked.layer, asked.head)
            step = len(finished.source.written) - not_yet if not_yet else 0
            layer, head = view.layer + 1, max(view.head + 1, 1)
            place = ReaderSettings(view.kind, view.how, layer, head, asked.words, not asked.damped, step)
            role = role_of(so_far(view, not_yet))
            return Taken(finished, shown(view, asked.words, not asked.damped, not_yet), place, role)

        self.tools.take_away.connect(self.service, session, take, self.asked)

    def connect(self) -> None:
        """Let the controls, the sentence and the sheet redraw what they change."""
        controls, sheet = self.controls, self.tools.sheet
        redraw = self._at_once(self._redraw)

        def choose(draw: Callable[[Asked], Updates]) -> Callable[..., Updates]:
            """Draw what a control was set to, and keep to it in later runs."""
            return lambda *values: {**self._at_once(draw)(*values), self.chosen: True}

        for inputs, draw, outputs in (
            ([controls.kind.input, controls.how.input], self._show, self.all),
            ([controls.layer.input, controls.head.input], self._redraw, self.pictures),
        ):
            gr.on(inputs, choose(draw), self.asked, [self.chosen, self.missed, *outputs], **self._quick)
        gr.on(
            [controls.words.input, controls.damped.input],
            redraw,
            self.asked,
            [*self.pictures, self.missed],
            **self._quick,
        )
        self.missed.change(
            self._drawing(self._show),
            self.asked,
            self.all,
            show_progress_on=self.plot,
            **in_line(self.service.settings),
        )

        def open_head(event: gr.EventData, *values: Any) -> Updates:
            asked = replace(Asked(*values), how="head", layer=int(event.layer) + 1, head=int(event.head) + 1)
            if not self._is_at_hand(asked):
                opened: Updates = {controls.how: asked.how, controls.layer: asked.layer, controls.head: asked.head}
                return {**opened, self.chosen: True, **self._miss()}
            view = self.see(asked.finished, asked.kind, asked.how, asked.layer, asked.head)
            drawn = self.draw(view, asked.words, not asked.damped, asked.not_yet)
            return {**controls.show(view), **drawn, self.chosen: True}

        for buttons in sheet.outputs:
            buttons.select(
                for_visitors(open_head),
                self.asked,
                [self.chosen, self.missed, *controls.inputs, *self.pictures],
                **self._quick,
            )

        def choose_word(event: gr.EventData, *values: Any) -> Updates:
            asked = replace(Asked(*values), word=int(event.query))
            if asked.unfolded and not self._is_at_hand(asked):
                return {self.word: asked.word, **self._miss()}
            agreeing = self._heads(asked) if asked.unfolded else {}
            return {self.word: asked.word, **{each: agreeing[each] for each in agreeing if each is sheet.agreement}}

        self.sentence.select(
            for_visitors(choose_word), self.asked, [self.word, self.missed, sheet.agreement], **self._quick
        )

        def unfold(*values: Any) -> Updates:
            return {sheet.unfolded: True, **self._heads(Asked(*values))}

        sheet.section.expand(
            for_visitors(unfold),
            self.asked,
            [sheet.unfolded, *sheet.outputs],
            show_progress_on=sheet.picture,
            **in_line(self.service.settings),
        )
        sheet.section.collapse(lambda: False, None, sheet.unfolded, **QUICK)
        self.tools.connect(self.service, self.finished, controls, self.see)

    def _show(self, asked: Asked) -> Updates:
        view = self.see(asked.finished, asked.kind, asked.how, asked.layer, asked.head)
        heads = self._heads(replace(asked, kind=view.kind)) if asked.unfolded else self.tools.sheet.hide()
        return {**self.controls.show(view), **self.draw(view, asked.words, not asked.damped, asked.not_yet), **heads}

    def _redraw(self, asked: Asked) -> Updates:
        view = self.see(asked.finished, asked.kind, asked.how, asked.layer, asked.head)
        return self.draw(view, asked.words, not asked.damped, asked.not_yet)

    def _decided(self, finished: Finished) -> Updates:
        """The layers that decided the tokens of a completion, nothing for other tasks."""
        try:
            return {
                strip: with_terms(decided_strip(finished.output, self.service.decided(finished.source)))
                for strip in self._strip
            }
        except InputError:
            return dict.fromkeys(self._strip, "")

    @property
    def _strip(self) -> list[Component]:
        return [self.decided] if self.decided else []

    def _heads(self, asked: Asked) -> Updates:
        """All heads of one kind of attention, and which of them agree on the chosen word."""
        tools = self.tools.sheet
        try:
            attention = _of_kind(self.service.attention(asked.finished.source), asked.kind)
        except InputError as error:
            return tools.hide(error.sentence)
        word = _word_at(attention, asked, opening(asked.finished.output, attention).query)
        return {tools.agreement: head_agreement(attention, word), tools.picture: sheet(attention)}

    def _drawing(self, handler: Callable[[Asked], Updates]) -> Callable[..., Updates]:
        """`handler` of an `Asked` or its fields; what cannot be had is told where pictures would stand."""

        def draw(*values: Any) -> Updates:
            try:
                return handler(values[0] if isinstance(values[0], Asked) else Asked(*values))
            except InputError as error:
                sentence = f'<p role="alert">{html.escape(error.sentence)}</p>'
                hidden = gr.update(visible=False)
                return {self.sentence: hidden, self.plot: hidden, self.reading: sentence}

        return for_visitors(draw)

    def _at_once(self, handler: Callable[[Asked], Updates]) -> Callable[..., Updates]:
        """`handler` of the fields of an `Asked` where it needs no model; else it is drawn in the line of the models."""
        draw = self._drawing(handler)

        def draw_or_wait(*values: Any) -> Updates:
            asked = Asked(*values)
            return draw(asked) if self._is_at_hand(asked) else self._miss()

        return for_visitors(draw_or_wait)

    def _is_at_hand(self, asked: Asked) -> bool:
        """Whether this can be drawn, or refused, without a model."""
        source = asked.finished.source
        return source.is_forgotten or self.service.holds_attention(source)

    def _miss(self) -> Updates:
        """The update that starts the event in the line: another number than before."""
        return {self.missed: str(time.monotonic_ns())}

    @property
    def _quick(self) -> dict[str, Any]:
        """How events run that need no model, or one that is in memory already."""
        return {"trigger_mode": "always_last", **QUICK}


def _of_kind(attentions: Attentions, kind: str) -> Attention:
    return attentions[kind if kind in attentions else next(iter(attentions))]


def _word_at(attention: Attention, asked: Asked, first: int) -> tuple[int, ...]:
    """The places of the tokens of the chosen word, of the one at token `first` where none was chosen."""
    words = words_of(attention.query_tokens)
    if asked.word < 0:
        return next(word for word in words if first in word)
    chosen = words if asked.words else tuple((place,) for place in range(len(attention.query_tokens)))
    return chosen[min(asked.word, len(chosen) - 1)]


def create_attention_reader(service: DemoService, example: Recorded, decided: gr.HTML | None = None) -> AttentionReader:
    """A reader that opens on a recorded view; its controls capture the rest when they are first moved.

    `decided` is the strip under the answer that says which layer decided each token, where there is one.
    """
    source, view = example.source, example.view
    seen = shown(view)
    with gr.Column(elem_classes="reader"):
        with gr.Row(elem_classes="reader-head"):
            gr.HTML(_HELP)
            head_choice = create_head_choice(view)
        sentence = gr.HTML(
            coloured_sentence(seen), js_on_load=colouring(), elem_classes="sentence-box", label="The text, coloured"
        )
        with gr.Row(elem_classes="reader-body"):
            plot = gr.Plot(
                drawn(attention_heatmap(seen)),
                label="Attention heatmap",
                show_label=False,
                container=False,
                elem_classes="heatmap-frame",
            )
            with gr.Column(elem_classes="reader-side", min_width=240):
                text_choice = create_text_choice()
                gr.HTML(_ABOUT)
                reading = gr.HTML(said(seen, role_of(view)), js_on_load=KEEP_OPEN, elem_classes="reading")
        tools = create_reader_tools(source, view)
        missed = gr.Textbox("", visible="hidden", label="Drawn in the line")
    reader = AttentionReader(
        service,
        example,
        held(Finished(example.run, example.output, source)),
        held(source),
        gr.State(False),
        gr.State(0),
        gr.State(-1),
        missed,
        ReaderControls(*head_choice, *text_choice),
        sentence,
        plot,
        reading,
        tools,
        decided,
    )
    reader.connect()
    return reader
