"""Single cells: a second form in the tab Before Transformers, a text coloured by one cell of a character LSTM."""

import html
from typing import Any

import gradio as gr

from demo.events import QUICK, for_visitors
from demo.language import N_, _
from demo.plots.reading import decimals, percent
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.theme import script
from demo.widgets import Updates
from models.before.characters import CODE, LINE, PROSE, UNKNOWN, figures
from models.outputs.base import Prediction, TaskOutput
from models.outputs.before import CellsOutput, WatchedCell
from models.registry import Task

_LEAD = N_(
    "Two small LSTMs learned to foresee the next character: one of prose, from children’s books, and one of Python, "
    "from its standard library. Nobody told them what a quotation or an indentation is; to foresee well, some of their "
    "cells came to keep count of such things. (Karpathy, Johnson and Fei-Fei, 2015.)"
)
_HINT = N_("At most 1,000 characters. <span class='keys'>Shift+Enter reads them.</span>")
_READERS = [(N_("Prose"), PROSE), (N_("Python source"), CODE)]
_STEPS = 7
_POINT = N_("Point at a character, tap it, or walk with the arrow keys.")
_SHOWN = {"\n": "↵", " ": "␣"}
_SPOKEN = {"\n": N_("line break"), " ": N_("space")}


def create_cells_form(service: DemoService, session: gr.BrowserState, generations: TaskTab) -> TaskTab:
    """The form with its events, in the tab `generations`."""
    form = TaskTab(service, session, Task.CELLS, lambda _run, output, _step: draw_first(output), generations)
    example = _typed(form.example.output)
    with form.page(_("Single cells: what one number of an LSTM watches")):
        with left_column():
            with form.asking(_("Read it"), _(_HINT)):
                form.create_text("text", lines=6, max_lines=14)
                form.create_radio("model", _("Who reads it"), _READERS)
            with form.settings(_(_LEAD)):
                form.create_picker()
        with result():
            first, most = example.cells[0].cell, figures()[example.model]["cells"] - 1
            named = gr.Radio(choices_of(example), value=first, label=_("Cells that watch something"))
            number = gr.Slider(0, most, first, step=1, label=_("Any cell"), info=_("most watch nothing"))
            form.create_answer(_("Single cells"), script("surprise.js"))
            form.create_header()
    form.below[named] = lambda finished: gr.update(choices=choices_of(finished.output), value=_first(finished))
    form.below[number] = _first
    form.connect()

    def choose(finished: Finished, cell: int | None) -> Updates:
        """The updates that colour the text by another cell."""
        output, cell = _typed(finished.output), int(cell or 0)
        found = [each for each in output.cells if each.cell == cell]
        if not found:
            asked = service.answer(Task.CELLS, {**finished.run.fields, "cells": [cell]}).output
            found = [each for each in _typed(asked).cells if each.cell == cell]
        watching = cell if found[0].watches else None
        return {form.answer: draw_cell(output, found[0]), named: watching, number: cell}

    shown: list[Any] = [form.answer, named, number]
    for chooser in (named, number):
        chooser.input(for_visitors(choose), [form.kept, chooser], shown, trigger_mode="always_last", **QUICK)
    return form


def _first(finished: Finished) -> int:
    return _typed(finished.output).cells[0].cell


def choices_of(output: TaskOutput) -> list[tuple[str, int]]:
    """The cells that watch something, as choices of label and number."""
    return [(_choice(each), each.cell) for each in _typed(output).cells if each.watches]


def _choice(cell: WatchedCell) -> str:
    return _(
        "cell {cell}: {watches}, correlation {correlation:.2f}",
        cell=cell.cell,
        watches=_(cell.watches),
        correlation=cell.correlation,
    )


def draw_first(output: TaskOutput) -> str:
    """The text coloured by its first cell."""
    output = _typed(output)
    return draw_cell(output, output.cells[0])


def draw_cell(output: CellsOutput, cell: WatchedCell) -> str:
    """The text as it was read, coloured by `cell`, with its state and the likeliest next characters at each place."""
    characters = "".join(
        _character(each, state, guesses, first=not place)
        for place, (each, state, guesses) in enumerate(zip(output.read, cell.states, output.guesses, strict=True))
    )
    steps = "".join(f'<i data-step="{step}"></i>' for step in range(-_STEPS, _STEPS + 1))
    first = html.escape(_said(output.read[0], cell.states[0], output.guesses[0]))
    name = html.escape(_("The text: choose a character"))
    return (
        f'<div class="surprises cells"><h3>{html.escape(_title(cell))}</h3>'
        f'<div class="sentence-head"><p class="quiet">{_(_POINT)}</p>'
        f'<p class="legend"><span>−1</span><span aria-hidden="true">{steps}</span><span>1</span></p></div>'
        f'<p class="written {output.model}"><span role="radiogroup" aria-label="{name}">{characters}</span>'
        f'</p><p class="read-out pointed" role="status">{first}</p>{_notes(output)}</div>'
    )


def _title(cell: WatchedCell) -> str:
    if cell.correlation is None:
        return _(
            "Cell {cell} has no name here: it may watch much at once, or nothing that we looked for", cell=cell.cell
        )
    values = {"cell": cell.cell, "watches": _(cell.watches), "correlation": decimals(cell.correlation)}
    if cell.correlation > 0:
        return _("Cell {cell} watches: {watches} (its number rises with it; correlation {correlation})", **values)
    return _("Cell {cell} watches: {watches} (its number falls with it; correlation {correlation})", **values)


def _character(each: str, state: float, guesses: tuple[Prediction, ...], *, first: bool) -> str:
    """One character to choose; a line break is drawn, so that it can be pointed at."""
    step = round(_STEPS * state)
    label = f' aria-label="{html.escape(_(_SPOKEN[each]))}"' if each in _SPOKEN else ""
    drawn = "↵\n" if each == "\n" else html.escape(each)
    return (
        f'<span class="token" role="radio" aria-checked="{str(first).lower()}" tabindex="{0 if first else -1}"{label}'
        f'{f" data-step={step}" if step else ""} data-said="{html.escape(_said(each, state, guesses))}">{drawn}</span>'
    )


def _said(each: str, state: float, guesses: tuple[Prediction, ...]) -> str:
    return _(
        "After {character}: {state}. Likeliest next: {guesses}.",
        character=_quoted(each),
        # Adding 0 turns -0.0 into 0.0.
        state=decimals(round(state, 2) + 0),
        guesses=", ".join(f"{_quoted(guess.text)} {percent(guess.score)}" for guess in guesses),
    )


def _quoted(character: str) -> str:
    return _("“{character}”", character=_SHOWN.get(character, character))


def _notes(output: CellsOutput) -> str:
    """Notes on how the text was read, and on how few cells have a name."""
    found = figures()[output.model]
    notes = [
        _(
            "Of its {cells} cells {nameable} go along with something that we looked for ({signals}), with a "
            "correlation of {least} or more over text kept out of training; the other {others} watch nothing that has "
            "a name here. It needs {bits:.2f} bits for a character of such text.",
            cells=found["cells"],
            nameable=found["nameable"],
            signals=", ".join(map(_, found["signals"])),
            least=found["least"],
            others=found["cells"] - found["nameable"],
            bits=found["bits_per_character"],
        )
    ]
    if output.model == PROSE:
        notes.append(_("The text was read in lines of at most {most} characters, as the books were.", most=LINE))
    if output.unknown:
        unknown = ", ".join(map(_quoted, output.unknown[:20]))
        notes.append(
            _("Not in the alphabet, and read as one unknown sign, {sign}: {unknown}.", sign=UNKNOWN, unknown=unknown)
        )
    return f'<p class="quiet">{html.escape(" ".join(notes))}</p>'


def _typed(output: TaskOutput) -> CellsOutput:
    assert isinstance(output, CellsOutput)  # noqa: S101
    return output
