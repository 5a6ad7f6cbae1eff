"""A second opinion beside attention, worked out when a visitor asks for it."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from demo.attempt import Finished
from demo.components.attribution_text import attribution_text
from demo.messages import for_visitors
from demo.plots.view import AttentionView
from demo.service import DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.explain.agreement import agreement
from models.registry import Task

See = Callable[[Finished, str, str, int, int], AttentionView]
"""The view of a run that has this kind, way of reading heads, layer and head."""

_HELP = """<p class="quiet">Attention shows where numbers flow. <em>Attribution</em> asks another question: how far did
each word push the score of the answer up or down? (Integrated gradients: the text is faded in from blanks in small
steps, and the pushes of each word are added up; Sundararajan and others, 2017.)</p>"""
_SPANS = [("The whole answer", "answer"), ("Where it starts", "start"), ("Where it ends", "end")]
# What can be asked: the label of the field, and what an empty one stands for.
_ASKED = {
    Task.SENTIMENT: ("For which label", "empty: the likeliest one"),
    Task.FILL_MASK: ("For which word in the blank", "empty: the likeliest one; #2 is the second blank"),
    Task.COMPLETION: ("For which next word", "empty: the first that was written; #5 is the fifth token"),
}


@dataclass(frozen=True, eq=False)
class AttributionPanel:
    """What to ask about, the button, and the result."""

    target: gr.Radio | gr.Textbox
    button: gr.Button
    result: gr.HTML

    def connect(self, service: DemoService, finished: gr.State, chosen: Sequence[Component], see: See) -> None:
        """Let the button work it out; `chosen` are the reader's kind, way of reading heads, layer, head and words."""

        def work_out(target: str, finished: Finished, kind: str, how: str, layer: int, head: int, words: bool) -> str:
            try:
                attribution = service.attribution(finished.source, target)
                view = see(finished, kind, how, layer, head)
            except InputError as error:
                return f'<p role="alert">{html.escape(error.sentence)}</p>'
            return attribution_text(attribution, agreement(attribution, view.weights, view.masked), words)

        gr.on(
            [self.button.click, *([self.target.submit] if isinstance(self.target, gr.Textbox) else [])],
            for_visitors(work_out),
            [self.target, finished, *chosen],
            self.result,
            concurrency_id=MODEL_QUEUE,
            concurrency_limit=service.settings.concurrency,
            show_progress_on=self.result,
            api_visibility="private",
        )


def create_attribution_panel(task: Task) -> AttributionPanel | None:
    """A folded section; none for translation, where every word is a decision of its own."""
    if task not in _ASKED and task is not Task.QUESTION_ANSWERING:
        return None
    with gr.Accordion("A second opinion: which words counted (attribution)", open=False, elem_classes="tool"):
        gr.HTML(_HELP)
        with gr.Row(elem_classes="tool-row"):
            target: gr.Radio | gr.Textbox
            if task is Task.QUESTION_ANSWERING:
                target = gr.Radio(_SPANS, value="answer", label="For which decision")
            else:
                name, empty = _ASKED[task]
                target = gr.Textbox("", label=name, info=empty, max_lines=1)
            button = gr.Button("Work it out", scale=0, min_width=140, elem_classes="tool-button")
        result = gr.HTML("", elem_classes="tool-result", label="Attribution")
    return AttributionPanel(target, button, result)
