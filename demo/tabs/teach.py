"""Teach it: a classifier of the visitor's own classes, learned from a few examples on a frozen network's vectors."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.blocks import Block
from gradio.components.plot import PlotData

from demo.events import QUICK
from demo.language import N_, _
from demo.log.run import Run
from demo.plots.learning_curve import NAMES, finding, learning_curve
from demo.plots.reading import percent
from demo.recorded import examples_of
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result, visitor_text
from demo.tabs.task_tab import TaskTab
from demo.teaching import by_class, in_lines, texts_of
from demo.widgets import Updates
from demo.widgets.bars import bars
from demo.widgets.figure import drawn
from demo.widgets.notice import create_notice
from demo.widgets.tables import KEEP_OPEN, fold_out, table
from models.outputs.base import TaskOutput
from models.outputs.vectors import Judged, TeachOutput
from models.registry import Task
from models.tasks.teach import LEAST_CLASSES, MOST_CLASSES

_HINT = N_("Name the classes and give each a few examples, one a line. Then write a text that the model has not seen.")
_LEAD = N_(
    "<em>Pre-train</em> once, then teach with a handful: BERT learned language by filling millions of blanks, and none "
    "of its numbers changes here. It turns each example into a vector, and only a small classifier on these vectors is "
    "taught, in a fraction of a second. That is <em>transfer learning</em>. The curve beside it teaches the same "
    "classifier with the words alone, and with the same network before any training."
)
_KEPT = N_(
    "Your examples stay in this browser’s session like any run: exported and deleted with it, and nothing else is ever "
    "taught with them."
)
_LIMITS = N_(
    "A vector says what a text is about and how it sounds. Irony, counting and logic hardly show in it, so more "
    "examples of these do not help much."
)
_FOLD = N_("Examples kept for the test")
_TEST_HINT = N_(
    "The classifier never sees these; they tell how often it is right. With none here, each example in turn is judged "
    "by a classifier that was taught without it (<em>cross-validation</em>)."
)


class TeachTab(TaskTab):
    """The tab, whose fields for classes and their examples make up the task's lists of examples.

    `rows` hold the name and the examples of each class; the first `shown` of them are visible.
    """

    def __init__(self, service: DemoService, session: gr.BrowserState) -> None:
        super().__init__(service, session, Task.TEACH, draw_answer)
        self.rows: list[gr.Column] = []

    def create_classes(self) -> None:
        """Create the fields for the name and the examples of each class, and the button that shows one more class."""
        given = by_class(self.example.run.inputs["examples"])
        classes = list(given.items())
        self.shown = gr.State(len(classes))
        with gr.Row(elem_classes="classes"):
            for number in range(MOST_CLASSES):
                label, texts = classes[number] if number < len(classes) else ("", [])
                with gr.Column(visible=number < len(classes), min_width=150, elem_classes="class-box") as row:
                    called = _("Class {number}", number=number + 1)
                    name = gr.Textbox(label, label=called, max_lines=1, elem_classes="class-name")
                    lines = gr.Textbox(
                        in_lines(texts), label=_("Examples of class {number}", number=number + 1), lines=5, max_lines=5,
                        elem_classes="class-examples",
                    )  # fmt: skip
                self.rows.append(row)
                self.fields |= {f"name-{number}": name, f"examples-{number}": lines}
        self.notices["examples"] = create_notice()
        self.add = gr.Button(_("Add a class"), size="sm", scale=0, min_width=120, visible=len(classes) < MOST_CLASSES)
        self.add.click(self.show_classes, self.shown, [*self.rows, self.add, self.shown], **QUICK)

    def create_tests(self) -> None:
        """Create the fields for the examples of each class that are kept for the test, folded away."""
        given, kept = (by_class(self.example.run.inputs.get(name)) for name in ("examples", "kept_out"))
        labels = list(given)
        with gr.Accordion(_(_FOLD), open=False, elem_classes="fold tests"):
            gr.HTML(f'<p class="quiet">{_(_TEST_HINT)}</p>')
            for number in range(MOST_CLASSES):
                texts = kept.get(labels[number], []) if number < len(labels) else []
                lines = gr.Textbox(
                    in_lines(texts), label=_("Kept of class {number}", number=number + 1), lines=3, max_lines=8,
                    visible=number < len(labels),
                )  # fmt: skip
                self.fields[f"kept-{number}"] = lines
            self.notices["kept_out"] = create_notice()

    def create_new_text(self) -> None:
        """Create the field for the text to classify."""
        (text,) = texts_of(self.example.run.inputs)
        self.fields["text"] = visitor_text(text, _("A new text to judge"), max_lines=3)
        self.notices["texts"] = create_notice()

    def show_classes(self, shown: int) -> Updates:
        """The updates that show one more class than `shown`."""
        return self._seen(min(shown + 1, MOST_CLASSES))

    def _seen(self, shown: int) -> Updates:
        rows: Updates = {row: gr.update(visible=number < shown) for number, row in enumerate(self.rows)}
        return {**rows, self.shown: shown, self.add: gr.update(visible=shown < MOST_CLASSES)}

    @property
    def form(self) -> list[Block]:
        """Every component that changes when the form is filled in."""
        return [*super().form, *self.rows, self.add, self.shown]

    def named(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """The task's fields, made of the classes that have a name or examples."""
        typed = {name: str(value or "") for name, value in super().named(values).items()}
        fields: dict[str, Any] = {"examples": [], "texts": [typed["text"]] if typed["text"].strip() else []}
        fields["kept_out"] = []
        for number in range(MOST_CLASSES):
            label = typed[f"name-{number}"].strip()
            lines, kept = (_lines(typed[f"{what}-{number}"]) for what in ("examples", "kept"))
            # A class with a name alone gets an empty example, so that the task reports it instead of ignoring it.
            fields["examples"] += [(line, label) for line in lines or ([""] if label else [])]
            fields["kept_out"] += [(line, label) for line in kept]
        return fields

    def fill(self, fields: Mapping[str, Any]) -> Updates:
        """The updates that put examples and texts into the form; the other classes are emptied and hidden."""
        classes, kept = (by_class(fields.get(name)) for name in ("examples", "kept_out"))
        if not classes:
            # A run that was refused before its examples were read kept none of them.
            return {}
        labels = [*classes, *[""] * MOST_CLASSES][:MOST_CLASSES]
        shown = min(max(len(classes), LEAST_CLASSES), MOST_CLASSES)
        filled: Updates = {self.fields["text"]: " ".join(texts_of(fields)[:1])}
        for number, label in enumerate(labels):
            filled[self.fields[f"name-{number}"]] = label
            filled[self.fields[f"examples-{number}"]] = in_lines(classes.get(label, ()))
            filled[self.fields[f"kept-{number}"]] = gr.update(
                value=in_lines(kept.get(label, ())), visible=number < shown
            )
        return filled | self._seen(shown)

    def fields_of_example(self, number: int) -> Updates:
        """The updates that fill in an example."""
        return self.fill(examples_of(self.task)[number].fields)


def create_teach_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TeachTab(service, session)
    with tab.page():
        with left_column():
            with tab.asking(_("Teach it"), _(_HINT)):
                tab.create_classes()
                tab.create_new_text()
            with tab.settings(_(_LEAD)):
                tab.create_picker()
            with gr.Column(elem_classes="beside"):
                tab.create_tests()
                gr.HTML(
                    f'<p class="quiet">{_(_KEPT)}</p><p class="quiet">{_(_LIMITS)}</p>',
                    label=_("What is kept of examples"),
                )
        with result():
            tab.create_answer(_("What it learned"))
            with gr.Column(elem_classes="more"):
                heading = gr.HTML(_finding(tab.example.output), label=_("What the curve shows"))
                tab.show_figure(_curve, _("Accuracy against the number of examples"), "curve-frame")
                numbers = gr.HTML(_numbers(tab.example.output), js_on_load=KEEP_OPEN, label=_("The curve as a table"))
            tab.create_reader()
    tab.below[heading] = lambda finished: _finding(finished.output)
    tab.below[numbers] = lambda finished: _numbers(finished.output)
    tab.connect()
    return tab


def draw_answer(_run: Run, output: TaskOutput, _step: int) -> str:
    """The label of the new text, the probability of each class, and how often the classifier is right."""
    output = _typed(output)
    judged = "".join(f"<h3>{_said(each)}</h3>{_shares(each)}" for each in output.predictions)
    measured, guessed = output.measured, round(output.chance * output.measured)
    right = measured - len(output.mistakes)
    said = (
        _(
            "{right} of {all} kept examples right; guessing would get {guessed}.",
            right=right,
            all=measured,
            guessed=guessed,
        )
        if output.measured_on == "kept"
        else _(
            "{right} of {all} examples, each judged without having been taught, right; guessing would get {guessed}.",
            right=right,
            all=measured,
            guessed=guessed,
        )
    )
    return f'{judged}<p class="taught">{said}</p>{_mistakes(output)}'


def _said(judged: Judged) -> str:
    return _(
        "The new text: “<bdi>{label}</bdi>” gets {share} of the probability",
        label=html.escape(judged.label),
        share=percent(max(score.score for score in judged.scores)),
    )


def _shares(judged: Judged) -> str:
    return bars(judged.scores, _("Probability of each class"), winner=judged.label)


def _mistakes(output: TeachOutput) -> str:
    if not output.mistakes:
        return ""
    rows = [
        [f"<bdi>{html.escape(each.text)}</bdi>", html.escape(each.expected),
         f"{html.escape(each.label)} {percent(max(score.score for score in each.scores))}"]
        for each in output.mistakes
    ]  # fmt: skip
    shown = table([_("text"), _("its class"), _("it said")], rows)
    return fold_out(_("Which it got wrong ({count})", count=len(rows)), shown, _("Examples that it got wrong"))


def _finding(output: TaskOutput) -> str:
    return f"<h2>{finding(_typed(output))}</h2>"


def _curve(finished: Finished) -> PlotData:
    return drawn(learning_curve(_typed(finished.output)))


def _numbers(output: TaskOutput) -> str:
    """The curve as a folded table, with a note on how it was measured."""
    output = _typed(output)
    curves = output.curve
    rows = [
        [str(size), *(f"{percent(each.accuracy[place])} ± {100 * each.spread[place]:.0f}" for each in curves)]
        for place, size in enumerate(curves[0].examples_per_class)
    ]
    shown = table([_("examples of each class"), *(_(NAMES[each.representation]) for each in curves)], rows)
    how = _(
        "Share of the test that is right: the mean of five draws of the examples, and their standard deviation in "
        "points (shaded above). All three are taught by the same logistic regression."
    )
    note = f'<p class="quiet">{how}</p>'
    return fold_out(_("The curve as a table"), shown, _("Accuracy against the number of examples"), note)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _typed(output: TaskOutput) -> TeachOutput:
    assert isinstance(output, TeachOutput)  # noqa: S101
    return output
