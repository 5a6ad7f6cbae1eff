"""Inside: a walk through a Transformer in numbered steps, one on the page at a time, with the model's own numbers."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, for_visitors, in_line
from demo.language import N_, _
from demo.lectures import Lecture
from demo.recorded import inside_examples, recorded_tokens
from demo.runs import DemoService
from demo.settings import MODEL_QUEUE
from demo.tabs.columns import asking, examples, lead, left_column, result, two_columns, visitor_text
from demo.walk.formulas import folded_formulas
from demo.walk.step import BuiltStep, Turn, WalkStep
from demo.walk.steps import STEPS, as_json, step_part
from demo.walk.view import ChosenWord, InsideRequest, WalkChoices, checkpoints_inside
from demo.walk.whole import whole_picture
from demo.web.gradio_private import component_class
from demo.widgets import PRESSED, Updates
from demo.widgets.glossary import terms_linked, with_terms
from demo.widgets.lecture_bar import lecture_list
from demo.widgets.notice import create_notice, noticed
from demo.widgets.picker import offered_for
from demo.widgets.saved import SavedFile, TextFile, html_file, json_file, offline_page
from models.errors import InputError
from models.inside.outputs import Piece
from models.inside.parameters import sizes_of
from models.registry import REGISTRY, Task, find

_LEAD = N_(
    "Follow your words through a Transformer, step by step. Every number is the chosen model’s own; "
    "choose another word, layer or head, and it changes."
)
_HINT = N_("Enter looks inside; Shift+Enter starts a new line.")
_COPY_STEP = "() => window.clearhead.copyLink(window.clearhead.inside ?? '?inside=tokens')"
_SAVED = N_(
    "The step as it is above. The page is one file that works without a network; the numbers are all that the step was "
    "drawn from, vectors and tables in full."
)
_BY_KEY = {step.key: step for step in STEPS}


def _any_value(_list: gr.Dropdown, payload: object) -> object:
    return payload


_WordList = component_class(gr.Dropdown, "WordList", preprocess=_any_value)
"""A dropdown that accepts a value which it no longer offers; `ChosenWord.read` parses it."""


class InsideTab:
    """The tab with its events: the controls that all steps share, the stepper, and components for each step.

    It opens on the first step of its first example, and lists the `lectures`.

    `shared` and `own` are the inputs of all steps and of single ones, `turned` the components that turning to another
    step changes at once, and `drawn` those that drawing one may change. `exports` are the buttons that save a lecture,
    by its name; `here` holds the query of the address of the step that is drawn.
    """

    def __init__(self, service: DemoService, lectures: Collection[Lecture] = ()) -> None:
        self.inside = service.inside
        request = inside_examples()[0].request
        with gr.Tab(_("Inside"), id="inside", elem_id="tab-inside"), two_columns():
            with left_column():
                self._create_question(request, lectures)
            with result():
                self._create_walk(request)
                self._create_take_away()
        self._connect(in_line(service.settings))

    def _create_question(self, request: InsideRequest, lectures: Collection[Lecture]) -> None:
        with asking():
            self.text = visitor_text(request.text)
            text_notice = create_notice()
            gr.HTML(f"<p class=\"quiet hint\"><span class='keys'>{_(_HINT)}</span></p>", label=_("What to do"))
            with gr.Row(elem_classes="run-row"):
                self.button = gr.Button(
                    _("Look inside"), variant="primary", scale=0, min_width=140, elem_classes="run-button"
                )
            self.notices = {"text": text_notice, "checkpoint": create_notice()}
            given = inside_examples()
            names = [_(each.label) for each in given]
            self.examples = examples([self.text], [each.request.text for each in given], names)
        with gr.Column(elem_classes="beside"):
            self.checkpoint = gr.Dropdown(
                [
                    (f"{each.title} · {each.family}", each.name)
                    for each in checkpoints_inside()
                    if each in offered_for(each.task)
                ],
                value=request.checkpoint,
                label=_("Model"),
                filterable=False,
                elem_classes="picker-list",
            )
            with gr.Accordion(_("Lectures: for a room with a projector"), open=False, elem_classes="fold lecture-list"):
                gr.HTML(lecture_list(lectures), label=_("Lectures"))
                self.exports = {
                    each.name: gr.Button(_("Save “{title}” as a page", title=_(each.title)), scale=0)
                    for each in lectures
                }
            lead(_(_LEAD))

    def _create_walk(self, request: InsideRequest) -> None:
        first = STEPS[0]
        self.stepper = gr.Radio(
            [(f"{step.number} {_(step.title)}", step.key) for step in STEPS],
            value=first.key,
            label=_("Step"),
            show_label=False,
            elem_classes="stepper",
        )
        sizes = sizes_of(REGISTRY[request.checkpoint].folder)
        self.whole = gr.HTML(
            whole_picture(REGISTRY[request.checkpoint], sizes, first.key, request.layer),
            js_on_load=PRESSED,
            elem_classes="whole-box",
            label=_("The whole"),
        )
        self.heading = gr.HTML(_heading(first), elem_classes="step-heading", label=_("Step"))
        with gr.Row(elem_classes="step-head"):
            self.back = gr.Button(_("Back"), scale=0, min_width=96, interactive=False)
            self.forward = gr.Button(_("Next"), scale=0, min_width=96)
            gr.Button(_("Copy link"), size="sm", scale=0, min_width=96, elem_classes="copy-link").click(
                None, None, None, js=_COPY_STEP
            )
        words, word = _words_of(request, recorded_tokens()[0].pieces), str(ChosenWord.of(request))
        with gr.Row(elem_classes="settings"):
            # Each is seen in the steps that use it; the first step uses none.
            self.choices: dict[str, Component] = {
                "layer": gr.Slider(
                    1, sizes.layers, request.layer + 1, step=1, label=_("Layer"), info=_("one round of mixing"),
                    visible=False,
                ),
                "head": gr.Slider(
                    1, sizes.heads, request.head + 1, step=1, label=_("Head"),
                    info=_("one of several mixers in a layer"), visible=False,
                ),
                "position": _WordList(
                    words, value=word, label=_("Word"), info=_("a token of your text"), filterable=False, visible=False
                ),
            }  # fmt: skip
        self.groups: dict[str, gr.Column] = {}
        self.built: dict[str, BuiltStep] = {}
        for step in STEPS:
            with gr.Column(visible=step is first, elem_classes="inside-step") as self.groups[step.key]:
                gr.HTML(folded_formulas(step.key), label=_("Formulas"))
                self.built[step.key] = step.create(self.inside)
        self.here = gr.Textbox("", visible="hidden", label="Address of this step")

        parts = [part for built in self.built.values() for part in built.parts]
        choices, outputs = self.choices.values(), [each for part in parts for each in part.outputs]
        self.shared: list[Component] = [self.text, self.checkpoint, *choices]
        self.own: list[Component] = [each for part in parts for each in part.inputs]
        self.inputs = [self.stepper, *self.shared, *self.own]
        self.turned: list[Component | gr.Column] = [
            self.stepper,
            self.back,
            self.forward,
            self.heading,
            *choices,
            *self.groups.values(),
        ]
        self.drawn = list(dict.fromkeys([self.here, self.whole, *self.notices.values(), *choices, *outputs, *self.own]))

    def _create_take_away(self) -> None:
        with gr.Accordion(_("Take it away: page, numbers"), open=False, elem_classes="tool"):
            gr.HTML(f'<p class="quiet">{_(_SAVED)}</p>', label=_("About these files"))
            with gr.Row(elem_classes="history-actions"):
                page = gr.Button(_("Page (HTML)"), min_width=170, scale=0)
                numbers = gr.Button(_("Numbers (JSON)"), min_width=170, scale=0)
            file = SavedFile()
        queued: dict[str, Any] = {"queue": True, "concurrency_id": MODEL_QUEUE}
        file.connect(page, self.page_file, self.inputs, **queued)
        file.connect(numbers, self.numbers_file, self.inputs, **queued)

    def _connect(self, line: Mapping[str, Any]) -> None:
        """Wire the stepper to turn to another step, and every control to redraw the step that is shown."""
        drawing: dict[str, Any] = {"trigger_mode": "always_last", "show_progress_on": self.heading, **line}
        show, show_untouched = for_visitors(self.show), for_visitors(self.show_untouched)
        turns = [
            self.stepper.input(for_visitors(self.turn), self.stepper, self.turned, **QUICK),
            self.back.click(for_visitors(lambda key: self._move(key, -1)), self.stepper, self.turned, **QUICK),
            self.forward.click(for_visitors(lambda key: self._move(key, 1)), self.stepper, self.turned, **QUICK),
            self.whole.select(for_visitors(self.go_to), None, self.turned, **QUICK),
        ]
        for turned in turns:
            # With `always_last`, a visitor who turns on before a step is drawn gets the last step and no empty one.
            turned.then(show, self.inputs, self.drawn, **drawing)
        tried = self.examples.click(for_visitors(self.try_example), self.examples, self.shared, **QUICK)
        tried.then(show_untouched, self.inputs, self.drawn, **drawing)
        anew = [self.button.click, self.text.submit, self.checkpoint.input]
        gr.on(anew, show_untouched, self.inputs, self.drawn, **drawing)
        stepwise = [each for built in self.built.values() for each in built.inputs]
        gr.on(_moves([*self.choices.values(), *stepwise]), show, self.inputs, self.drawn, **drawing)
        for turn in (each for built in self.built.values() for each in built.turns):
            outputs = list(dict.fromkeys([*turn.outputs, *self.notices.values()]))
            redraw = for_visitors(partial(self.show_turn, turn))
            gr.on(_moves(turn.inputs), redraw, self.inputs, outputs, **drawing)
            if turn.tried:
                turn.tried.then(redraw, self.inputs, outputs, **drawing)

    def values(self, request: InsideRequest) -> list[Any]:
        """The values of `shared` that ask for `request`."""
        word = str(ChosenWord.of(request))
        return [request.text, request.checkpoint, request.layer + 1, request.head + 1, word]

    def show(self, step: str, *asked: Any) -> Updates:
        """The updates that draw the step, or an error message beside the field to correct."""
        try:
            return self.picture(step, *asked)
        except InputError as error:
            return self._refused(error)

    def show_untouched(self, step: str, *asked: Any) -> Updates:
        """The updates that draw the step for another text or model, with the `own` inputs at their first values."""
        untouched: Updates = {each: each.value for each in self.own}
        shown = self.show(step, *asked[: len(self.shared)], *untouched.values())
        return {each: gr.update(value=value) for each, value in untouched.items()} | shown

    def show_turn(self, turn: Turn, step: str, *asked: Any) -> Updates:
        """The updates that redraw the part of the step that `turn` controls, or an error message beside a field."""
        values = dict(zip(self.inputs[1:], asked, strict=True))
        try:
            request = self.inside.checked(self._request(step, values))[0]
            pictures = turn.draw(request, *(values[each] for each in turn.inputs))
        except InputError as error:
            return self._refused(error)
        return {**self._silent, **terms_linked(dict(zip(turn.outputs, pictures, strict=True)))}

    def picture(self, step: str, *asked: Any) -> Updates:
        """The updates that draw the step and clear all messages; raises `InputError`."""
        values = dict(zip(self.inputs[1:], asked, strict=True))
        wanted = self._request(step, values)
        request, place = self.inside.checked(wanted)
        built = self.built[step]
        pictures: Updates = {}
        for part in built.parts:
            drawn = part.draw(request, *(values[each] for each in part.inputs))
            pictures |= zip(part.outputs, drawn, strict=True)
        # A word's value holds a hash of the text as it stands in the field, not of the cleaned one.
        controls = self._set_to(replace(request, text=wanted.text), place)
        choices = {control: controls[control] for control in self.choices.values()}
        for control, update in choices.items():
            # Do not set back what the visitor may choose before this arrives.
            if update["value"] == values[control]:
                del update["value"]
        if "value" not in choices[self.choices["position"]]:
            # A word's value names its text and model: if it is unchanged, the list is the right one already.
            del choices[self.choices["position"]]
        whole = self._whole(request, place)
        return {**terms_linked(self._silent | choices | pictures), self.whole: whole, self.here: request.to_query()}

    def _whole(self, request: InsideRequest, place: WalkChoices) -> str:
        """The picture of the whole model with the step's part marked; step 7 is always about the translation model."""
        checkpoint, sizes = REGISTRY[request.checkpoint], place.sizes
        if request.step == "translation":
            checkpoint = find("", Task.TRANSLATION)
            sizes = sizes_of(checkpoint.folder)
        follows = "position" in _BY_KEY[request.step].uses
        vectors = self.inside.vectors(request) if follows else None
        return whole_picture(checkpoint, sizes, request.step, request.layer, vectors)

    def _request(self, step: str, values: Mapping[Component, Any]) -> InsideRequest:
        """The request of the controls' values, with the chosen word carried over to the text and model."""
        text, checkpoint, layer, head, position = (values[each] for each in self.shared)
        asked = InsideRequest(step, text, checkpoint, int(layer) - 1, int(head) - 1)
        chosen = ChosenWord.read(position)
        return self.inside.follow(asked, chosen) if chosen else asked

    def part(self, step: str, *asked: Any) -> tuple[str, list[str]]:
        """The step as HTML for a page to save, and the figures in it; raises `InputError`."""
        chosen, request = self._asked_for(step, *asked)
        outputs = [each for part in self.built[step].parts for each in part.outputs]
        return step_part(chosen, request, outputs, self.picture(step, *asked))

    def page_file(self, step: str, *asked: Any) -> TextFile:
        """The step as a self-contained page; raises `InputError`."""
        body, figures = self.part(step, *asked)
        title = _("Inside: {step}", step=_(_BY_KEY[step].title))
        page = offline_page(title, f"<main>{body}</main>", figures=figures)
        return html_file(page, f"clearhead-inside-{step}")

    def numbers_file(self, step: str, *asked: Any) -> TextFile:
        """The numbers that the step is drawn from; raises `InputError`."""
        chosen, request = self._asked_for(step, *asked)
        values = dict(zip(self.inputs[1:], asked, strict=True))
        turned = {}
        for turn in self.built[step].turns:
            at = {each.label: values[each] for each in turn.inputs}
            turned[turn.name] = at | {"numbers": turn.numbers(request, *at.values())}
        numbers = chosen.numbers(self.inside, request)
        return json_file(as_json(chosen, request, numbers, turned), f"clearhead-inside-{step}")

    def _asked_for(self, step: str, *asked: Any) -> tuple[WalkStep, InsideRequest]:
        request = self._request(step, dict(zip(self.inputs[1:], asked, strict=True)))
        return _BY_KEY[step], self.inside.checked(request)[0]

    def turn(self, step: str) -> Updates:
        """The updates that turn to the step at once; its pictures stay as they were last drawn."""
        chosen = _BY_KEY[step]
        return {
            self.stepper: step,
            self.back: gr.update(interactive=chosen.number > 1),
            self.forward: gr.update(interactive=chosen.number < len(STEPS)),
            self.heading: _heading(chosen),
            **{control: gr.update(visible=name in chosen.uses) for name, control in self.choices.items()},
            **{group: gr.update(visible=key == step) for key, group in self.groups.items()},
        }

    def go_to(self, event: gr.EventData) -> Updates:
        """The updates that turn to the step of a part of the whole picture, and to its layer if it has one."""
        turned = self.turn(event.step if event.step in _BY_KEY else STEPS[0].key)
        if hasattr(event, "layer"):
            layer = self.choices["layer"]
            turned[layer] = turned[layer] | gr.update(value=int(event.layer) + 1)
        return turned

    def _move(self, key: str, by: int) -> Updates:
        """The updates that turn to the step `by` places on, within the first and the last."""
        number = min(max(_BY_KEY[key].number + by, 1), len(STEPS))
        return self.turn(STEPS[number - 1].key)

    def open(self, request: InsideRequest) -> Updates:
        """The updates that set the controls to `request` and turn to its step; the caller draws it next."""
        try:
            checked, place = self.inside.checked(request)
        except InputError:
            checked, place = request, None
        return both(self._set_to(replace(checked, text=request.text), place), self.turn(request.step))

    def try_example(self, number: int) -> Updates:
        """The updates that set the controls to an example; raises `InputError` if it is too long for this host."""
        return self._set_to(*self.inside.checked(inside_examples()[number].request))

    def _set_to(self, request: InsideRequest, place: WalkChoices | None) -> Updates:
        """The updates that set the controls to `request`, and their choices to those of `place` if it is given."""
        values = zip(self.shared, self.values(request), strict=True)
        updates: Updates = {control: gr.update(value=value) for control, value in values}
        if place is not None:
            layer, head, position = (updates[control] for control in self.choices.values())
            layer["maximum"], head["maximum"] = place.sizes.layers, place.sizes.heads
            position["choices"] = _words_of(request, place.tokens.pieces)
        return updates

    def _refused(self, error: InputError) -> Updates:
        return self._silent | {self.notices.get(error.field, self.notices["text"]): noticed(_(error.sentence))}

    @property
    def _silent(self) -> Updates:
        return {notice: noticed("") for notice in self.notices.values()}


def _moves(controls: Iterable[Component]) -> list[Any]:
    """The events that a control was moved: `input`, but `submit` and `blur` for a text field."""
    return [
        event
        for each in controls
        for event in ([each.submit, each.blur] if isinstance(each, gr.Textbox) else [each.input])  # type: ignore[attr-defined]
    ]


def both(first: Updates, then: Updates) -> Updates:
    """Merge two updates; where both set the same property of a component, `then` wins."""
    return first | {block: first[block] | update if block in first else update for block, update in then.items()}


def _words_of(request: InsideRequest, pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """The tokens of the text of `request` as choices: a label counted from 1, and a `ChosenWord` as value."""
    return [
        (f"{place + 1}: {piece.piece.strip('Ġ▁') or '␣'}", str(ChosenWord.of(replace(request, position=place))))
        for place, piece in enumerate(pieces)
    ]


def _heading(step: WalkStep) -> str:
    said = f'<p class="step-text">{with_terms(_(step.text))}</p>'
    return f'<h2 aria-live="polite">{step.number}. {html.escape(_(step.title))}</h2>{said}'
