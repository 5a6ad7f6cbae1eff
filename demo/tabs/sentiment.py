"""Sentiment: the probability of each class, with a fine-tuned encoder."""

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from demo.plots.reading import percent
from demo.reader.reader import AttentionReader
from demo.recorded import recorded
from demo.runs import DemoService
from demo.tabs import task_tab as shape
from demo.tabs.task_tab import RunControls, TaskTab
from demo.widgets import Updates
from demo.widgets.bars import bars
from demo.widgets.notice import create_notice
from demo.widgets.picker import create_checkpoint_picker
from models.outputs import SentimentOutput, TaskOutput
from models.registry import Task

_TASK = Task.SENTIMENT
_LEAD = (
    "Is a sentence meant well or ill? The same BERT, after a second training on film reviews marked by people as "
    "positive or negative (<em>fine-tuning</em>)."
)

_HINT = "Write a sentence. <span class='keys'>Enter reads it; Shift+Enter starts a new line.</span>"


def create_sentiment_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""
    example = recorded(_TASK)
    with shape.task_page(_TASK, "Sentiment"):
        with shape.left_column():
            with shape.asking():
                text = shape.visitor_text(example.run.fields["text"])
                text_notice = create_notice()
                buttons = shape.create_buttons(_TASK, "Read it", _HINT, text)
            with shape.settings(_LEAD):
                picker = create_checkpoint_picker(_TASK)
        with shape.result():
            answer = gr.HTML(draw_answer(example.output), elem_classes="answer", label="Sentiment")
            header, copy_link = shape.create_header(_TASK)
            reader = AttentionReader(service, session, example)
        fields = {"text": text}
        row = RunControls(picker, *buttons)

    def draw(_fields: Mapping[str, Any], output: TaskOutput) -> Updates:
        return {answer: draw_answer(output)}

    tab = TaskTab(
        _TASK, service, session, fields, {"text": text_notice}, row, (answer,), header, copy_link, reader, draw
    )

    tab.connect([text.submit])
    return tab


def draw_answer(output: TaskOutput) -> str:
    """The likeliest class in a sentence, and every class as a bar."""
    assert isinstance(output, SentimentOutput)  # noqa: S101
    best = max(output.scores, key=lambda each: each.score)
    return (
        f"<h3>The model gives “<bdi>{html.escape(best.text)}</bdi>” {percent(best.score)} of its probability</h3>"
        f"{bars(output.scores, 'Probability of each class', winner=output.label)}"
    )
