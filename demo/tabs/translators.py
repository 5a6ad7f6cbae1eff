"""Translating before Transformers: a second form in the tab Translate, one sentence through five translators."""

import html
from functools import partial

import gradio as gr
from gradio.components.plot import PlotData

from demo.events import QUICK, for_visitors
from demo.language import N_, _
from demo.plots.translators import alignment_figure, length_figure
from demo.runs import DemoService, Finished
from demo.tabs.columns import lead, left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.figure import drawn, figure_place
from models.before.translators import ADDITIVE, BILINEAR, DOT, KINDS, THE_TRANSFORMER, figures
from models.outputs.base import TaskOutput
from models.outputs.before import EarlyTranslation, TranslatorsOutput
from models.registry import Task

_LEAD = N_(
    "Four <em>LSTMs</em>, trained here on the very pairs of the Transformer. The first squeezes a sentence into one "
    "vector and writes from that alone; the others look back at the English with <em>attention</em>, which was "
    "invented for this, before there were Transformers."
)
_HINT = N_("One English sentence. <span class='keys'>Enter translates; Shift+Enter starts a new line.</span>")
_ATTENTIONS = {
    ADDITIVE: N_("additive (Bahdanau)"),
    DOT: N_("dot (Luong)"),
    BILINEAR: N_("bilinear (Luong)"),
}
_LENGTHS = N_(
    "BLEU on 1,014 captions kept out of training, by their length: the longer a sentence, the less of it fits into a "
    "vector of 256 numbers. Greedy search for all five, measured once by <code>training/early_translators.py</code>. "
    "The Transformer is larger and learned for longer."
)


def create_translators_form(service: DemoService, session: gr.BrowserState, translation: TaskTab) -> TaskTab:
    """The form with its events, in the tab `translation`."""
    form = TaskTab(
        service, session, Task.TRANSLATORS, lambda _run, output, _step: draw_translators(output), translation
    )
    with form.page():
        with left_column(), form.asking(_("Ask them all"), _(_HINT)):
            form.create_text("text", _("Your English sentence"), max_lines=4)
            lead(_(_LEAD), _("About this form"))
        with result():
            form.create_answer(_("Five translations"))
            form.create_header()
            _create_pictures(form)
    form.connect()
    return form


def _create_pictures(form: TaskTab) -> None:
    """Create the figures: the attention of a chosen LSTM beside the Transformer's, and BLEU by length."""
    layer, head = figures()["head"]
    with gr.Column(elem_classes="more"):
        gr.HTML(f"<h2>{_('Where did it look while it wrote?')}</h2>", label=_("Where it looked"))
        chosen = gr.Radio(
            [(_(name), key) for key, name in _ATTENTIONS.items()], value=ADDITIVE, label=_("The LSTM’s attention")
        )
        with gr.Row(elem_classes="alignments"):
            with gr.Column(min_width=280):
                gr.HTML(f"<h3>{_('The LSTM')}</h3>", label=_("The LSTM"))
                looked = form.show_figure(
                    partial(alignment, key=ADDITIVE), _("What the LSTM looked at"), "heatmap-frame"
                )
            with gr.Column(min_width=280):
                title = _("The Transformer, layer {layer}, head {head}", layer=layer + 1, head=head + 1)
                gr.HTML(f"<h3>{title}</h3>", label=_("Transformer"))
                own = partial(alignment, key=THE_TRANSFORMER.key)
                form.show_figure(own, _("What the Transformer looked at"), "heatmap-frame")
        about = f"<h2>{_('Why one vector is not enough')}</h2><p class='quiet'>{_(_LENGTHS)}</p>"
        gr.HTML(about, label=_("BLEU by length"))
        names = {kind.key: _(kind.name) for kind in (*KINDS, THE_TRANSFORMER)}
        by_length = length_figure(figures()["figures"], figures()["lengths"], names)
        figure_place(drawn(by_length), _("BLEU by length"))
    form.below[chosen] = lambda _finished: ADDITIVE

    chosen.input(for_visitors(alignment), [form.kept, chosen], looked, trigger_mode="always_last", **QUICK)


def alignment(finished: Finished, key: str) -> PlotData | None:
    """The figure of the attention weights of the translator `key`; `None` if it has none."""
    output = finished.output
    assert isinstance(output, TranslatorsOutput)  # noqa: S101
    row = next(row for row in output.rows if row.key == key)
    return drawn(alignment_figure(output, row)) if row.alignment else None


def draw_translators(output: TaskOutput) -> str:
    """Every translation with its model; words that one says twice in a row are marked."""
    assert isinstance(output, TranslatorsOutput)  # noqa: S101
    again = [_(row.name) for row in output.rows if row.repeated]
    said = _("Nobody repeats itself")
    if len(again) == 1:
        said = _("One repeats itself: {name}", name=again[0])
    elif again:
        said = _("{count} of {all} repeat themselves", count=len(again), all=len(output.rows))
    rows = "".join(
        f"<li><span class='generation-name'>{html.escape(_(row.name))}</span> {_marked(row)}"
        f"<span class='quiet about'>{html.escape(_about(row))}</span></li>"
        for row in output.rows
    )
    return f"<h3>{html.escape(said)}</h3><ol class='translators'>{rows}</ol>"


def _about(row: EarlyTranslation) -> str:
    return _(
        "{paper} · {weights:,} weights · BLEU {bleu:.1f} on captions",
        paper=row.paper,
        weights=row.parameters,
        bleu=row.bleu,
    )


def _marked(row: EarlyTranslation) -> str:
    """The text of a translation, with its repeated spans marked."""
    parts, end = [], 0
    for start, stop in row.repeated:
        parts += [html.escape(row.text[end:start]), f"<mark>{html.escape(row.text[start:stop])}</mark>"]
        end = stop
    return f"<div class='translation' lang='fr' dir='auto'>{''.join(parts)}{html.escape(row.text[end:])}</div>"
