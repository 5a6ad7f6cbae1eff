"""Inside: a walk through a Transformer in numbered steps, one on the page at a time, with the model's own numbers."""

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr
from gradio.components import Component

from demo.events import QUICK, for_visitors, in_line
from demo.lectures import Lecture
from demo.recorded import inside_examples
from demo.runs import DemoService
from demo.settings import MODEL_QUEUE, Settings
from demo.tabs.task_tab import asking, lead, left_column, result, two_columns, visitor_text
from demo.walk.step import BuiltStep, InsideControls, WalkStep, create_choices
from demo.walk.steps import STEPS, create_inside_take_away
from demo.walk.view import InsideRequest, checkpoints_inside, from_query
from demo.widgets import Updates
from demo.widgets.glossary import terms_linked, with_terms
from demo.widgets.lecture_bar import lecture_list
from demo.widgets.notice import create_notice, noticed
from models.errors import InputError

_LEAD = (
    "Follow your words through a Transformer, step by step. Every number is the chosen model’s own; "
    "choose another word, layer or head, and it changes."
)
_COPY_STEP = "() => window.clearhead.copyLink(window.clearhead.inside ?? '?inside=tokens')"
_HINT = "<span class='keys'>Enter looks inside; Shift+Enter starts a new line.</span>"
_CHOICES = ("layer", "head", "position")


@dataclass(frozen=True, eq=False)
class InsideTab:
    """The tab as handlers see it: the controls that all steps share, the stepper, and a group for each step.

    `exports` are the buttons that save a lecture, by its name; `here` is the end of the address of what is drawn.
    """

    controls: InsideControls
    stepper: gr.Radio
    back: gr.Button
    forward: gr.Button
    heading: gr.HTML
    button: gr.Button
    examples: gr.Dataset
    notices: dict[str, gr.HTML]
    groups: dict[str, gr.Column]
    built: dict[str, BuiltStep]
    exports: dict[str, gr.Button]
    here: gr.Textbox

    @property
    def inputs(self) -> list[Component]:
        """The inputs of every handler: the step, the shared controls, then the inputs of each step."""
        return [self.stepper, *self.controls.inputs, *(each for built in self.built.values() for each in built.inputs)]

    @property
    def turned(self) -> list[Component | gr.Column]:
        """The components that turning to another step changes at once."""
        shown = [self.stepper, self.back, self.forward, self.heading, *self._choices.values()]
        return [*shown, *self.groups.values()]

    @property
    def drawn(self) -> list[Component]:
        """The components that drawing a step may change."""
        outputs = [each for built in self.built.values() for each in built.outputs]
        return [self.here, *self.notices.values(), *self.controls.chosen, *outputs]

    def show(self, step: str, *asked: Any) -> Updates:
        """The picture of the step, or a sentence beside the field that is to be mended."""
        try:
            return self.picture(step, *asked)
        except InputError as error:
            return self._silent | {self.notices.get(error.field, self.notices["text"]): noticed(error.sentence)}

    def picture(self, step: str, *asked: Any) -> Updates:
        """The picture of the step and no sentence anywhere; raises `InputError`."""
        shared, values = asked[: len(self.controls.inputs)], list(asked[len(self.controls.inputs) :])
        own: dict[str, list[Any]] = {}
        for key, built in self.built.items():
            own[key], values = values[: len(built.inputs)], values[len(built.inputs) :]
        wanted = self.controls.request(step, shared)
        request, place = self.controls.inside.checked(wanted)
        # The words belong to the text as it stands in the field.
        placed = self.controls.corrected(replace(request, text=wanted.text), place, shared)
        drawn = terms_linked(self._silent | placed | self.built[step].draw(request, *own[step]))
        return {**drawn, self.here: request.to_query()}

    def asked_for(self, step: str, *asked: Any) -> tuple[WalkStep, InsideRequest]:
        """The step that the values of `inputs` ask for, and what it shows; raises `InputError`."""
        request, _ = self.controls.inside.checked(self.controls.request(step, asked[: len(self.controls.inputs)]))
        return _step(step)[0], request

    def turn(self, step: str) -> Updates:
        """The frame of the step, at once and still as it was drawn last."""
        chosen, place = _step(step)
        return {
            self.stepper: step,
            self.back: gr.update(interactive=place > 0),
            self.forward: gr.update(interactive=place < len(STEPS) - 1),
            self.heading: _heading(chosen),
            **{control: gr.update(visible=name in chosen.uses) for name, control in self._choices.items()},
            **{group: gr.update(visible=key == step) for key, group in self.groups.items()},
        }

    def open(self, request: InsideRequest) -> Updates:
        """The controls set to `request`, and the frame of its step; draw it next."""
        step = request.step if request.step in self.built else STEPS[0].key
        try:
            checked, place = self.controls.inside.checked(request)
            choices = self.controls.choices(replace(checked, text=request.text), place)
        except InputError:
            choices = {}
        return _both(self._set_to(request) | choices, self.turn(step))

    def try_example(self, number: int) -> Updates:
        """The controls set to an example, in the step that is shown; raises `InputError` where it is too long here."""
        request, place = self.controls.inside.checked(inside_examples()[number].request)
        return self._set_to(request) | self.controls.choices(request, place)

    def connect(self, settings: Settings) -> None:
        """Let the stepper turn the page, and every control draw the step that is shown."""
        drawing: dict[str, Any] = {"show_progress_on": self.heading, **in_line(settings)}
        show = for_visitors(self.show)
        turns = [
            self.stepper.input(for_visitors(self.turn), self.stepper, self.turned, **QUICK),
            *(
                button.click(for_visitors(_beside(self, by)), self.stepper, self.turned, **QUICK)
                for button, by in ((self.back, -1), (self.forward, 1))
            ),
        ]
        tried = self.examples.click(for_visitors(self.try_example), self.examples, self.controls.inputs, **QUICK)
        for turned in (*turns, tried):
            # Whoever turns on before a step is drawn gets the last one, and no empty one.
            turned.then(show, self.inputs, self.drawn, trigger_mode="always_last", **drawing)
        own = [each for built in self.built.values() for each in built.inputs]
        moved = [self.controls.checkpoint, *self.controls.chosen, *own]
        said = [self.button.click, self.controls.text.submit, *(each.input for each in moved)]  # type: ignore[attr-defined]
        gr.on(said, show, self.inputs, self.drawn, trigger_mode="always_last", **drawing)

    def connect_address(self, demo: gr.Blocks, tabs: gr.Tabs, masthead: gr.HTML) -> None:
        """Show the view of an address (`InsideRequest.to_query`) that the page is opened at, or goes back to.

        The script of `masthead` tells of the latter; it is told what was drawn, so that the page's address follows.
        """

        def arrive(query: Mapping[str, str], own: Sequence[Any]) -> Updates:
            asked = from_query(query, inside_examples()[0].request)
            if asked is None:
                return {self.stepper: gr.skip()}
            step = asked.step if asked.step in self.built else STEPS[0].key
            drawn = self.show(step, *self.controls.values(asked), *own)
            return _both(self.open(asked), drawn)

        def opened(request: gr.Request, *own: Any) -> Updates:
            shown = arrive(request.query_params, own)
            return shown | {tabs: gr.Tabs(selected="inside")} if self.heading in shown else shown

        def gone_back(address: str, *own: Any) -> Updates:
            return arrive(dict(parse_qsl(address.partition("#")[0].removeprefix("?"))), own)

        own = [each for built in self.built.values() for each in built.inputs]
        changed = list(dict.fromkeys([tabs, *self.controls.inputs, *self.turned, *self.drawn]))
        drawing: dict[str, Any] = {
            "concurrency_id": MODEL_QUEUE, "show_progress": "hidden", "api_visibility": "private"
        }  # fmt: skip
        demo.load(for_visitors(opened), own, changed, **drawing)
        address = gr.Textbox("", visible="hidden", label="Address of a step")
        masthead.select(None, None, address, js="() => `${location.search}#${Date.now()}`")
        address.change(for_visitors(gone_back), [address, *own], changed, **drawing)
        self.here.change(None, self.here, None, js="(address) => window.clearhead.drewInside(address)")

    def _set_to(self, request: InsideRequest) -> Updates:
        return {**dict(zip(self.controls.inputs, self.controls.values(request), strict=True))}

    @property
    def _choices(self) -> dict[str, Component]:
        return {name: getattr(self.controls, name) for name in _CHOICES}

    @property
    def _silent(self) -> Updates:
        return {notice: noticed("") for notice in self.notices.values()}


def create_inside_tab(service: DemoService, lectures: Collection[Lecture] = ()) -> InsideTab:
    """The tab with its events and the `lectures` on offer; it opens on the first step of its first example."""
    request = inside_examples()[0].request
    first = STEPS[0]
    with gr.Tab("Inside", id="inside", elem_id="tab-inside"), two_columns():
        with left_column():
            with asking():
                text = visitor_text(request.text)
                text_notice = create_notice()
                gr.HTML(f'<p class="quiet hint">{_HINT}</p>', label="What to do")
                with gr.Row(elem_classes="run-row"):
                    button = gr.Button(
                        "Look inside", variant="primary", scale=0, min_width=140, elem_classes="run-button"
                    )
                checkpoint_notice = create_notice()
                examples = gr.Dataset(
                    components=[text],
                    samples=[[each.request.text] for each in inside_examples()],
                    sample_labels=[each.label for each in inside_examples()],
                    type="index",
                    label="Examples",
                    elem_classes="examples",
                )
            with gr.Column(elem_classes="beside"):
                checkpoint = gr.Dropdown(
                    [(f"{each.title} · {each.family}", each.name) for each in checkpoints_inside()],
                    value=request.checkpoint,
                    label="Model",
                    filterable=False,
                    elem_classes="picker-list",
                )
                with gr.Accordion(
                    "Lectures: for a room with a projector", open=False, elem_classes="fold lecture-list"
                ):
                    gr.HTML(lecture_list(lectures), label="Lectures")
                    exports = {each.name: gr.Button(f"Save “{each.title}” as a page", scale=0) for each in lectures}
                lead(_LEAD)
        with result():
            stepper = gr.Radio(
                [(f"{step.number} {step.title}", step.key) for step in STEPS],
                value=first.key,
                label="Step",
                show_label=False,
                elem_classes="stepper",
            )
            heading = gr.HTML(_heading(first), elem_classes="step-heading", label="Step")
            with gr.Row(elem_classes="step-head"):
                back = gr.Button("Back", scale=0, min_width=96, interactive=False)
                forward = gr.Button("Next", scale=0, min_width=96, interactive=len(STEPS) > 1)
                gr.Button("Copy link", size="sm", scale=0, min_width=96, elem_classes="copy-link").click(
                    None, None, None, js=_COPY_STEP
                )
            choices = create_choices(request, first)
            controls = InsideControls(service.inside, text, checkpoint, *choices)
            groups: dict[str, gr.Column] = {}
            built: dict[str, BuiltStep] = {}
            for step in STEPS:
                with gr.Column(visible=step is first, elem_classes="inside-step") as groups[step.key]:
                    built[step.key] = step.create(controls)
            notices = {"text": text_notice, "checkpoint": checkpoint_notice}
            here = gr.Textbox("", visible="hidden", label="Address of this step")
            tab = InsideTab(
                controls, stepper, back, forward, heading, button, examples, notices, groups, built, exports, here
            )
            create_inside_take_away(tab.asked_for, tab.picture, built, service.inside, tab.inputs)
    tab.connect(service.settings)
    return tab


def _both(first: Updates, then: Updates) -> Updates:
    """One update for what both change: of the same thing, a value or whether it is seen, the later one holds."""
    merged = {**first, **then}
    for component in first.keys() & then.keys():
        earlier, later = (
            each if isinstance(each, dict) else gr.update(value=each) for each in (first[component], then[component])
        )
        merged[component] = earlier | later
    return merged


def _beside(tab: InsideTab, by: int) -> Any:
    """Turns to the step `by` places on."""

    def move(key: str) -> Updates:
        place = min(max(_step(key)[1] + by, 0), len(STEPS) - 1)
        return tab.turn(STEPS[place].key)

    return move


def _step(key: str) -> tuple[WalkStep, int]:
    """The step called `key` and its place in the list."""
    place = next(place for place, step in enumerate(STEPS) if step.key == key)
    return STEPS[place], place


def _heading(step: WalkStep) -> str:
    said = f'<p class="step-text">{with_terms(step.text)}</p>'
    return f'<h2 aria-live="polite">{step.number}. {html.escape(step.title)}</h2>{said}'
