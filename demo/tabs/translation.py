"""Translate: the candidates of beam search, with an encoder-decoder."""

import html
import math

import gradio as gr

from demo.language import N_, _
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.writing.steps import DecoderSteps
from demo.writing.text import CHOOSE, token_group
from models.outputs.base import TaskOutput
from models.outputs.writing import TranslationOutput
from models.registry import Task

_LEAD = N_(
    "One half of this model reads English (the <em>encoder</em>), the other writes French (the <em>decoder</em>) and "
    "looks back at the English before every token."
)
_HINT = N_("Write in English. <span class='keys'>Enter translates; Shift+Enter starts a new line.</span>")


def create_translation_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.TRANSLATION, lambda _run, output, step: draw_answer(output, step))
    with tab.page():
        with left_column():
            with tab.asking(_("Translate"), _(_HINT)):
                tab.create_text("text", _("Your English text"))
            with tab.settings(_(_LEAD)):
                tab.create_slider("num_beams")
                tab.create_picker()
        with result():
            tab.create_answer(_("Translations"))
            tab.create_reader()
            tab.steps = DecoderSteps(service, tab.task)
    tab.connect()
    return tab


def draw_answer(output: TaskOutput, step: int = 0) -> str:
    """The best translation, then the other candidates, each with its mean probability per token.

    `step` counts the chosen token of the best one from 1, 0 for the last.
    """
    assert isinstance(output, TranslationOutput)  # noqa: S101
    best, *others = output.translations
    rest = "".join(
        f"<li><bdi>{html.escape(each.text)}</bdi> "
        f"<span class='quiet'>{_('{share} of the probability', share=_per_token(each.score))}</span></li>"
        for each in others
    )
    also = f'<h3>{_("Other drafts it kept")}</h3><ol class="texts" start="2">{rest}</ol>' if rest else ""
    tokens = html.escape(best.text)
    if output.generated:
        tokens = token_group(output, step or len(output.generated))
    notes = "".join(f"<p class='quiet'>{html.escape(_(note))}</p>" for note in output.notes)
    gave = _(
        "The model gave each token of it {share} of the probability on average (beam search puts the highest average "
        "first).",
        share=_per_token(best.score),
    )
    return (
        f'<p class="best-text" dir="auto">{tokens}</p>{notes}'
        f"<p class='quiet'>{gave} {_(CHOOSE) if output.generated else ''}</p>{also}"
    )


def _per_token(score: float) -> str:
    """A mean log-probability as the (geometric) mean probability of a token."""
    return percent(math.exp(min(score, 0.0)))
