"""Sentiment: the probability of each class, with a fine-tuned encoder."""

import html

import gradio as gr

from demo.language import N_, _
from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.columns import left_column, result
from demo.tabs.task_tab import TaskTab
from demo.widgets.bars import bars
from models.outputs.base import Prediction, TaskOutput
from models.outputs.encoders import SentimentOutput
from models.registry import Task

_LEAD = N_(
    "Is a sentence meant well or ill? The same BERT, after a second training on film reviews and opinions, "
    "each marked as positive or negative (<em>fine-tuning</em>)."
)
_HINT = N_("Write a sentence. <span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>")
CLASSES = (N_("positive"), N_("negative"))
"""The names that the checkpoints give to their classes."""


def create_sentiment_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.SENTIMENT, lambda _run, output, _step: draw_answer(output))
    with tab.page():
        with left_column():
            with tab.asking(_("Read it"), _(_HINT)):
                tab.create_text("text")
            with tab.settings(_(_LEAD)):
                tab.create_picker()
        with result():
            tab.create_answer(_("Sentiment"))
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(output: TaskOutput) -> str:
    """The likeliest class in a sentence, and every class as a bar."""
    assert isinstance(output, SentimentOutput)  # noqa: S101
    best = max(output.scores, key=lambda each: each.score)
    said = _(
        "The model gives “<bdi>{label}</bdi>” {share} of its probability",
        label=html.escape(_(best.text)),
        share=percent(best.score),
    )
    shares = [Prediction(_(each.text), each.score) for each in output.scores]
    return f"<h3>{said}</h3>{bars(shares, _('Probability of each class'), winner=_(output.label))}"
