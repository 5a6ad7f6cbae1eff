"""The attention reader: what the model looked at, for one token, layer and head or for many."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from demo.events import QUICK, for_visitors, in_line
from demo.language import N_, _
from demo.plots.heatmap import attention_heatmap
from demo.plots.reading import role_of
from demo.plots.view import AttentionView, shown, so_far, view_of
from demo.reader.attribution import create_attribution
from demo.reader.controls import create_controls
from demo.reader.export import Taken, create_take_away
from demo.reader.heads import create_head_sheet, head_agreement, sheet
from demo.reader.link import ReaderSettings
from demo.reader.sentence import coloured_sentence, said
from demo.reader.what_if import create_try_it, words_to_replace
from demo.recorded import Recorded
from demo.runs import DemoService, Finished
from demo.theme import script
from demo.widgets import Updates
from demo.widgets.figure import drawn, figure_place
from demo.widgets.glossary import with_terms
from demo.widgets.notice import alert, held
from demo.widgets.tables import KEEP_OPEN
from demo.writing.text import decided_strip
from models.errors import InputError
from models.explain.opening import opening
from models.outputs.attention import Attention, Attentions
from models.outputs.base import Token
from models.registry import Task
from models.text.words import words_of

_ABOUT = N_(
    "To work out a word, the model mixes in others: it shares out 100&nbsp;% of weight among them, its "
    "<em>attention</em>. A <em>layer</em> is one round of mixing, and a <em>head</em> one of several mixers in it."
)
_AT_ONCE: dict[str, Any] = {"trigger_mode": "always_last", **QUICK}
"""The options of an event that needs no model, or only attention that is in memory."""


@dataclass(frozen=True)
class Asked:
    """The values of a reader's components: layers and heads count from 1, layer 0 is all layers.

    `step` is the written token up to which attention is shown, counted from 1, 0 for the whole text; `word` is the
    index of the chosen word among the rows, -1 for the one to begin with; `unfolded`: whether the sheet is open.
    """

    finished: Finished
    step: int
    word: int
    unfolded: bool
    kind: str
    how: str
    layer: int
    head: int
    words: bool
    damped: bool
    part: str = ""

    @property
    def place(self) -> ReaderSettings:
        """The reader's settings, as a link holds them."""
        place = self.kind, self.how, int(self.layer), int(self.head), self.words, not self.damped
        return ReaderSettings(*place, self.step, self.part)


class AttentionReader:
    """The controls and the pictures, which open on the recorded `example`; other attention is captured when asked for.

    `finished` is the run to read, `shown` the source of the attention in the pictures. `chosen` says whether the
    visitor, a link or a lecture chose what to show; until then each run opens on the token and the head that say most.
    `step` and `word` are as in `Asked`. `missed` changes when a redraw finds its attention no longer in memory.
    `decided` is the strip under a completion that says which layer decided each token; it follows the run as the
    pictures do.
    """

    def __init__(
        self, service: DemoService, session: gr.BrowserState, example: Recorded, decided: gr.HTML | None = None
    ) -> None:
        self.service = service
        self.example = example
        self.finished = held(Finished(example.run, example.output, example.source))
        self.shown = held(example.source)
        self.chosen, self.step, self.word, self.unfolded = (gr.State(value) for value in (False, 0, -1, False))
        self.controls = controls = create_controls(example.view, of_pair=example.run.task is Task.SENTENCE_PAIR)
        self._strip: list[Component] = [decided] if decided else []
        view = shown(example.view, part="" if controls.part else None)
        with gr.Column(elem_classes="reader"):
            with gr.Row(elem_classes="reader-head"):
                gr.HTML(f'<h2 class="reader-title">{_("What it looked at")}</h2>')
                for control in controls.place:
                    control.render()  # type: ignore[no-untyped-call]
            self.sentence = gr.HTML(
                coloured_sentence(view),
                js_on_load=script("coloured_sentence.js"),
                elem_classes="sentence-box",
                label=_("The text, coloured"),
            )
            with gr.Row(elem_classes="reader-body"):
                self.plot = figure_place(drawn(attention_heatmap(view)), _("Attention heatmap"), "heatmap-frame")
                with gr.Column(elem_classes="reader-side", min_width=240):
                    for switch in filter(None, (controls.part, controls.words, controls.damped)):
                        switch.render()  # type: ignore[no-untyped-call]
                    gr.HTML(f'<p class="quiet">{_(_ABOUT)}</p>')
                    self.reading = gr.HTML(
                        said(view, role_of(example.view)), js_on_load=KEEP_OPEN, elem_classes="reading"
                    )
            self.section, self.agreement, self.sheet = create_head_sheet()
            task, place = example.run.task, controls.place
            counted = create_attribution(service, task, self.finished, [*place, controls.words], self.see)
            words = words_to_replace(_read(example.view, example.source.written), example.view.key)
            self.word_to_replace, compared = create_try_it(service, task, self.finished, place, words)
            taken = create_take_away(service, session, self._taken, self.asked)
            self.missed = gr.Textbox("", visible="hidden", label=_("Drawn in the line"))
        self._results: list[Component] = [*counted, compared, *taken]
        self._connect()

    @property
    def asked(self) -> list[Component]:
        """The components whose values are the fields of `Asked`, in order."""
        return [self.finished, self.step, self.word, self.unfolded, *self.controls.inputs]

    @property
    def subject(self) -> list[Component]:
        """The components that another run changes before its attention is captured."""
        return [self.finished, self.step, self.word, *self._strip]

    @property
    def pictures(self) -> list[Component]:
        """The components that another layer or head changes."""
        return [self.sentence, self.plot, self.reading]

    @property
    def all(self) -> list[Component]:
        """The components that attention of another run or kind changes."""
        return [*self.controls.inputs, *self.pictures, self.agreement, self.sheet]

    @property
    def tools(self) -> list[Component]:
        """The components of the tools below the pictures that belong to one source and are cleared for another."""
        return [self.word_to_replace, *self._results]

    def turn_to(self, finished: Finished, own: bool = True) -> Updates:
        """The updates that make `finished` the run to read, without its id unless it is the visitor's `own`."""
        run = replace(finished.run, id=finished.run.id if own else "", session_id="", answer=None)
        turned: Updates = {self.finished: replace(finished, run=run), self.step: 0, self.word: -1}
        return turned | dict.fromkeys(self._strip, "")

    def turn_to_place(self, place: ReaderSettings) -> Updates:
        """The updates that set the controls to `place`; the caller draws next."""
        # `None` makes even a run with the same text be drawn again, for its settings may differ.
        turned: Updates = {self.step: place.step, self.chosen: True, self.shown: None}
        return self.controls.turn_to(place, self.example.view.kinds) | turned

    def see(self, finished: Finished, kind: str, how: str, layer: int, head: int) -> AttentionView:
        """The view that the controls ask for, its attention captured if need be; raises `InputError`.

        A single head in layer 0, which stands for all layers, is the head that the reader opens on.
        """
        first = self.example.view
        at_first = (kind, how) == (first.kind, first.how) and layer in (0, first.layer + 1)
        if finished.source == self.example.source and at_first and (not layer or head == first.head + 1):
            # Keep the recorded numbers that the page opened on; this machine might round them differently.
            return first
        attentions = self.service.attention(finished.source)
        there = _of_kind(attentions, kind)
        opened = opening(finished.output, there)
        if how == "head" and not layer:
            layer, head = opened.layer + 1, opened.head + 1
        elif how == "head":
            # Another model may have fewer layers or heads.
            layer, head = min(layer, there.layers), min(max(head, 1), there.heads)
        return view_of(attentions, there.kind, int(layer) - 1, int(head) - 1, how, opened)

    def read(self, finished: Finished, place: ReaderSettings) -> Taken:
        """The picture of a run with the settings `place`; raises `InputError`."""
        view = self.see(finished, place.kind, place.how, place.layer, place.head)
        not_yet = len(finished.source.written) - place.step if place.step else 0
        there = replace(
            place,
            kind=view.kind,
            how=view.how,
            layer=view.layer + 1,
            head=max(view.head + 1, 1),
            step=place.step if not_yet > 0 else 0,
        )
        part = place.part if self.controls.part else None
        seen = shown(view, place.words, place.specials, not_yet, part)
        return Taken(finished, seen, there, role_of(so_far(view, not_yet)))

    def draw(self, taken: Taken) -> Updates:
        """The updates that redraw the pictures."""
        return {
            self.sentence: gr.update(value=coloured_sentence(taken.view), visible=True),
            self.plot: gr.update(value=drawn(attention_heatmap(taken.view)), visible=True),
            self.reading: said(taken.view, taken.role),
        }

    def show(self, taken: Taken) -> Updates:
        """The updates that redraw the pictures and set the controls to what they show."""
        return self.controls.show(taken.view) | self.draw(taken)

    def clear_tools(self, finished: Finished) -> Updates:
        """The updates that clear the tools' results for another run, and offer the words of this one to replace."""
        try:
            first = _of_kind(self.service.attention(finished.source), "")
            words = words_to_replace(_read(first, finished.source.written), opening(finished.output, first).key)
        except InputError:
            words = words_to_replace(())
        return {**dict.fromkeys(self._results, ""), self.word_to_replace: gr.update(**words)}

    def walk(self, slider: Component, event: Dependency) -> None:
        """After `event`, show attention as it was once the token whose number is in `slider` had been written."""
        event.then(lambda step: int(step), slider, self.step, **QUICK).then(
            self._handler(self._pictures), self.asked, [*self.pictures, self.missed], **_AT_ONCE
        )

    def follow(self, event: Dependency) -> Dependency:
        """Redraw attention after `event` has shown the answer of another run; returns the event that redraws."""

        def redraw(shown: object, chosen: bool, *values: Any) -> Updates:
            asked = Asked(*values)
            source = asked.finished.source
            if source == shown:
                return {self.shown: shown, **self._decided(asked.finished)}
            if not chosen:
                asked = replace(asked, kind="", how="head", layer=0)
            return {
                **self.clear_tools(asked.finished),
                **self._drawn(self._everything, asked),
                **self._decided(asked.finished),
                self.shown: source,
            }

        drawn: Dependency = event.then(
            for_visitors(redraw),
            [self.shown, self.chosen, *self.asked],
            [self.shown, *self.all, *self.tools, *self._strip],
            show_progress_on=self.plot,
            **in_line(self.service.settings),
        )
        return drawn

    def _connect(self) -> None:
        """Wire the controls, the sentence and the sheet to redraw what they change."""
        controls = self.controls
        switches = [each for each in (controls.words, controls.damped, controls.part) if each]
        choice: Updates = {self.chosen: True}

        def open_head(event: gr.EventData, *values: Any) -> Updates:
            asked = replace(Asked(*values), how="head", layer=int(event.layer) + 1, head=int(event.head) + 1)
            opened: Updates = {controls.how: asked.how, controls.layer: asked.layer, controls.head: asked.head}
            return {**opened, **choice, **self._at_once(self._view, asked)}

        def choose_word(event: gr.EventData, *values: Any) -> Updates:
            asked = replace(Asked(*values), word=int(event.query))
            word: Updates = {self.word: asked.word}
            if asked.unfolded:
                heads = self._at_once(self._heads, asked)
                heads.pop(self.sheet, None)
                return word | heads
            return word

        def draw_in_line(*values: Any) -> Updates:
            return self._drawn(self._everything, Asked(*values))

        def unfold(*values: Any) -> Updates:
            return {self.unfolded: True, **self._heads(Asked(*values))}

        for moved, draw, outputs, also in (
            ([controls.kind, controls.how], self._everything, self.all, choice),
            ([controls.layer, controls.head], self._pictures, self.pictures, choice),
            (switches, self._pictures, self.pictures, {}),
        ):
            gr.on(
                [control.input for control in moved],
                self._handler(draw, also),
                self.asked,
                [*also, self.missed, *outputs],
                **_AT_ONCE,
            )
        for buttons in (self.agreement, self.sheet):
            buttons.select(
                for_visitors(open_head),
                self.asked,
                [self.chosen, self.missed, *controls.inputs, *self.pictures],
                **_AT_ONCE,
            )
        chosen = [self.word, self.missed, self.agreement]
        self.sentence.select(for_visitors(choose_word), self.asked, chosen, **_AT_ONCE)
        line = in_line(self.service.settings)
        self.missed.change(for_visitors(draw_in_line), self.asked, self.all, show_progress_on=self.plot, **line)
        opened = [self.unfolded, self.agreement, self.sheet]
        self.section.expand(for_visitors(unfold), self.asked, opened, show_progress_on=self.sheet, **line)
        self.section.collapse(lambda: False, None, self.unfolded, **QUICK)

    def _taken(self, *values: Any) -> Taken:
        asked = Asked(*values)
        return self.read(asked.finished, asked.place)

    def _pictures(self, asked: Asked) -> Updates:
        return self.draw(self.read(asked.finished, asked.place))

    def _view(self, asked: Asked) -> Updates:
        return self.show(self.read(asked.finished, asked.place))

    def _everything(self, asked: Asked) -> Updates:
        taken = self.read(asked.finished, asked.place)
        folded: Updates = {self.agreement: "", self.sheet: ""}
        return self.show(taken) | (self._heads(replace(asked, kind=taken.view.kind)) if asked.unfolded else folded)

    def _heads(self, asked: Asked) -> Updates:
        """The updates that draw all heads of one kind of attention, and groups that agree on the chosen word."""
        try:
            attention = _of_kind(self.service.attention(asked.finished.source), asked.kind)
        except InputError as error:
            return {self.agreement: alert(_(error.sentence)), self.sheet: ""}
        word = _word_at(attention, asked, opening(asked.finished.output, attention).query)
        return {self.agreement: head_agreement(attention, word), self.sheet: sheet(attention)}

    def _decided(self, finished: Finished) -> Updates:
        """The update of the strip of layers that decided the tokens of a completion; empty for other tasks."""
        try:
            return {
                strip: with_terms(decided_strip(finished.output, self.service.decided(finished.source)))
                for strip in self._strip
            }
        except InputError:
            return dict.fromkeys(self._strip, "")

    def _handler(self, draw: Callable[[Asked], Updates], also: Updates | None = None) -> Callable[..., Updates]:
        """A handler that draws from the values of `asked`, at once where it can, and also makes the updates `also`."""

        def draw_or_wait(*values: Any) -> Updates:
            return {**self._at_once(draw, Asked(*values)), **(also or {})}

        return for_visitors(draw_or_wait)

    def _at_once(self, draw: Callable[[Asked], Updates], asked: Asked) -> Updates:
        """The updates of `draw(asked)` if it needs no model; else one that redraws everything in the models' queue."""
        source = asked.finished.source
        if source.is_forgotten or self.service.holds_attention(source):
            return self._drawn(draw, asked)
        # A new value triggers `missed.change`, which waits in that queue.
        return {self.missed: str(time.monotonic_ns())}

    def _drawn(self, draw: Callable[[Asked], Updates], asked: Asked) -> Updates:
        """The updates of `draw(asked)`; an `InputError` hides the pictures and shows its sentence."""
        try:
            return draw(asked)
        except InputError as error:
            hidden = gr.update(visible=False)
            return {self.sentence: hidden, self.plot: hidden, self.reading: alert(_(error.sentence))}


def _of_kind(attentions: Attentions, kind: str) -> Attention:
    return attentions[kind if kind in attentions else next(iter(attentions))]


def _read(first: Attention | AttentionView, written: tuple[int, ...]) -> tuple[Token, ...]:
    """The keys of the attention that is shown first, without the tokens that the model wrote itself."""
    return first.key_tokens[: len(first.key_tokens) - len(written)] if first.kind == "decoder" else first.key_tokens


def _word_at(attention: Attention, asked: Asked, first: int) -> tuple[int, ...]:
    """The indices of the tokens of the chosen word, or of the word with token `first` if none was chosen."""
    words = words_of(attention.query_tokens)
    if asked.word < 0:
        return next(word for word in words if first in word)
    chosen = words if asked.words else tuple((place,) for place in range(len(attention.query_tokens)))
    return chosen[min(asked.word, len(chosen) - 1)]
