"""Before Transformers: one sentence through seven generations of models, and how each of them reads it."""

import html

import gradio as gr
from gradio.components.plot import PlotData

from demo.events import QUICK
from demo.language import N_, _, ngettext
from demo.log.run import Run
from demo.looks import source_of
from demo.plots.generations import MOST_WORDS, curve_figure, reach_figure
from demo.plots.reading import percent
from demo.runs import DemoService, Finished
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets import PRESSED
from demo.widgets.chips import readable, token_chips, words_of
from demo.widgets.figure import drawn, figure_place
from demo.widgets.generations import opened_row
from models.before import figures
from models.errors import InputError
from models.outputs.base import TaskOutput
from models.outputs.before import NEGATIVE, POSITIVE, GenerationRow, GenerationsOutput, GenerationsReading
from models.registry import Task

_LEAD = N_(
    "Seventy years of reading a sentence, from counting its words to BERT. The eleven earlier models learned from the "
    "same 67,000 phrases of film reviews, here on this project’s own machine, each in a few minutes. BERT, the last, "
    "had read far more. At the foot of the tab: what single cells of an LSTM watch."
)
_HINT = N_(
    "Tap a word to leave it out below, or change it there: which models change their minds? "
    "<span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>"
)
_LEAVE_OUT = N_("Words of the text: choose one to leave it out in the text below")
_REACH_TITLE = N_("How far back does the answer’s gradient reach?")
_REACH = N_(
    "A network learns through gradients: how much its answer would move if a word’s vector moved. In a recurrent "
    "network it has to go back word by word; where each step shrinks it, it is lost, the <em>vanishing gradient</em>. "
    "BERT’s attention has no steps to go back through. Before training, with random weights, it vanishes in both "
    "recurrent networks: the first words of a long text teach them next to nothing. These two, taught with short "
    "phrases, have learned to keep most of it. Each model against its own greatest, on a logarithmic axis that both "
    "pictures share."
)
_CURVE_TITLE = N_("What is pre-training worth?")
_CURVE = N_(
    "Right answers on sst2’s development sentences after 100, 1,000 and 10,000 labelled phrases: an LSTM that knows "
    "nothing yet, the same idea begun as a language model, and a language model’s frozen vectors. Ours is small and "
    "read for minutes, so it helps little; BERT, above, shows what reading more is worth. Mean of three draws, "
    "measured once by training/before.py."
)
_LEGEND = N_("Bars to the right: positive; to the left: negative. A row opens into how its model reads.")
_LABELS: dict[str, str] = {POSITIVE: N_("positive"), NEGATIVE: N_("negative")}


def create_generations_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events; its answer shows how each model reads, and below it how far gradients reach."""

    def reading_of(run: Run, output: TaskOutput) -> GenerationsReading | None:
        """How the models read the text of `run`; `None` if that is no longer available."""
        source = source_of(run, output)
        if source == tab.example.source:
            return tab.example.reading
        try:
            return service.generations(source)
        except InputError:
            return None

    def draw(run: Run, output: TaskOutput, _step: int) -> str:
        return draw_answer(_typed(output), reading_of(run, output))

    def draw_reach(finished: Finished) -> PlotData | None:
        reading = reading_of(finished.run, finished.output)
        return drawn(reach_figure(reading, names_of(_typed(finished.output).rows))) if reading else None

    tab = TaskTab(service, session, Task.GENERATIONS, draw)
    with tab.page():
        with left_column():
            with tab.asking(_("Ask them all"), _(_HINT)):
                text = tab.create_text("text")
                chips = gr.HTML(
                    token_chips(tab.example.run.fields["text"], _(_LEAVE_OUT)),
                    js_on_load=PRESSED,
                    elem_classes="chip-box",
                )
                changed = tab.create_text("changed", _("The same with one word changed, if you like"))
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("Twelve answers"))
            tab.create_header()
            with gr.Column(elem_classes="more"):
                reach = f"<h2>{_(_REACH_TITLE)}</h2><p class='quiet'>{_(_REACH)}</p>"
                gr.HTML(reach, label=_("How far back gradients reach"))
                tab.show_figure(draw_reach, _("Gradients"))
                worth = f"<h2>{_(_CURVE_TITLE)}</h2><p class='quiet'>{_(_CURVE)}</p>"
                gr.HTML(worth, label=_("What pre-training is worth"))
                curve = curve_figure(figures()["curve"], names_of(_typed(tab.example.output).rows))
                figure_place(drawn(curve), _("Accuracy by the number of phrases"))
            tab.create_reader()

    def leave_out(typed: str, event: gr.EventData) -> str:
        return without_word(readable(typed), int(event.word))

    chips.select(leave_out, text, changed, **QUICK)
    text.change(lambda typed: token_chips(typed, _(_LEAVE_OUT)), text, chips, trigger_mode="always_last", **QUICK)
    tab.connect()
    return tab


def without_word(text: str, index: int) -> str:
    """`text` without its word number `index`, counted from 0, and without a double space in its place."""
    words = words_of(text)
    if not 0 <= index < len(words):
        return text
    return f"{text[: words[index].start].rstrip()} {text[words[index].end :].lstrip()}".strip()


def names_of(rows: tuple[GenerationRow, ...]) -> dict[str, str]:
    """The name of each row's model by its key."""
    return {row.key: _(row.name) for row in rows}


def draw_answer(output: GenerationsOutput, reading: GenerationsReading | None) -> str:
    """How many models say positive, which change their minds, and a row for each that opens into how it reads."""
    positive = sum(row.label == POSITIVE for row in output.rows)
    if not positive:
        headline = _("All of them say negative")
    elif positive == len(output.rows):
        headline = _("All of them say positive")
    else:
        headline = ngettext(
            "{count} of {all} say positive",
            "{count} of {all} say positive",
            positive,
            all=len(output.rows),
        )
    notes = []
    if output.rows[-1].changed_positive is not None:
        turned = [_(row.name) for row in output.rows if row.changes_its_mind]
        if turned:
            note = ngettext(
                "With the word changed (the lower bar): {count} change their minds: {models}.",
                "With the word changed (the lower bar): {count} change their minds: {models}.",
                len(turned),
                models="; ".join(turned),
            )
        else:
            note = _("With the word changed (the lower bar): No model changes its mind.")
        notes.append(note)
    if output.unknown:
        unknown = ", ".join(_("“{word}”", word=word) for word in output.unknown)
        notes.append(_("Not among the words that the earlier models learned from sst2: {unknown}.", unknown=unknown))
    by_key = {each.key: each for each in reading.readings} if reading else {}
    words = reading.words if reading else ()
    rows = "".join(_row(row, opened_row(row.key, by_key.get(row.key), words)) for row in output.rows)
    legend = _(_LEGEND)
    if len(words) > MOST_WORDS:
        legend += " " + _("Strips show the first {count} words.", count=MOST_WORDS)
    told = "".join(f"<p class='quiet'>{html.escape(note)}</p>" for note in notes)
    return f"<h3>{headline}</h3>{told}<div class='generations'>{rows}</div><p class='quiet'>{legend}</p>"


def _row(row: GenerationRow, opened: str) -> str:
    bars = _bar(row.positive) + ("" if row.changed_positive is None else _bar(row.changed_positive, "changed"))
    if row.accuracy is None:
        right = _("not measured on sst2")
    else:
        right = _("right on {accuracy:.1f}\u202f% of sst2/dev", accuracy=row.accuracy)
    changes = _("changes its mind")
    mind = f"<strong class='changes'>{changes}</strong>" if row.changes_its_mind else ""
    weights = ngettext("{count:,} weight", "{count:,} weights", row.parameters)
    about = f"{_(row.paper)} · {weights} · {right}"
    share = row.positive if row.label == POSITIVE else 1 - row.positive
    return (
        f"<details><summary><span class='generation'>{html.escape(_(row.name))} {mind}</span>"
        f"<span class='both-ways' aria-hidden='true'>{bars}</span>"
        f"<span class='bar-number'>{_(_LABELS[row.label])} {percent(share)}</span>"
        f"<span class='quiet about'>{html.escape(about)}</span></summary>{opened}</details>"
    )


def _bar(positive: float, kind: str = "") -> str:
    start, width = (50, 100 * positive - 50) if positive > 0.5 else (100 * positive, 50 - 100 * positive)
    side = POSITIVE if positive > 0.5 else "negative"
    return f"<span class='{kind}'><i class='{side}' style='left:{start:.1f}%;width:{width:.1f}%'></i></span>"


def _typed(output: TaskOutput) -> GenerationsOutput:
    assert isinstance(output, GenerationsOutput)  # noqa: S101
    return output
