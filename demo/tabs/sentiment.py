"""Sentiment: the probability of each class, with a fine-tuned encoder."""

import html

import gradio as gr

from demo.plots.reading import percent
from demo.runs import DemoService
from demo.tabs.task_tab import TaskTab, left_column, result
from demo.widgets.bars import bars
from models.outputs.base import TaskOutput
from models.outputs.encoders import SentimentOutput
from models.registry import Task

_LEAD = (
    "Is a sentence meant well or ill? The same BERT, after a second training on film reviews and opinions, "
    "each marked as positive or negative (<em>fine-tuning</em>)."
)
_HINT = "Write a sentence. <span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>"


def create_sentiment_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    tab = TaskTab(service, session, Task.SENTIMENT, lambda _run, output, _step: draw_answer(output))
    with tab.page():
        with left_column():
            with tab.asking("Read it", _HINT):
                tab.create_text("text")
            with tab.settings(_LEAD):
                tab.create_picker()
        with result():
            tab.create_answer("Sentiment")
            tab.create_reader()
    tab.connect()
    return tab


def draw_answer(output: TaskOutput) -> str:
    """The likeliest class in a sentence, and every class as a bar."""
    assert isinstance(output, SentimentOutput)  # noqa: S101
    best = max(output.scores, key=lambda each: each.score)
    return (
        f"<h3>The model gives “<bdi>{html.escape(best.text)}</bdi>” {percent(best.score)} of its probability</h3>"
        f"{bars(output.scores, 'Probability of each class', winner=output.label)}"
    )
