"""Questions: where in a text the answer stands, with a fine-tuned encoder."""

import html

import gradio as gr
from gradio.components.plot import PlotData

from demo.log.run import Run
from demo.plots.reading import percent
from demo.plots.spans import span_probabilities
from demo.runs import DemoService
from demo.tabs.task_tab import TaskTab, left_column, result
from demo.widgets.bars import bars
from demo.widgets.figure import drawn
from models.outputs.base import Prediction, TaskOutput
from models.outputs.encoders import QuestionAnsweringOutput
from models.registry import Task

_LEAD = (
    "Ask about a text. The model does not write an answer: it points at the words of the text where an answer "
    "starts and ends (<em>extractive</em> question answering), or says that there is none."
)
_HINT = "Ask, or paste a text of your own. <span class='keys'>Enter looks it up; Shift+Enter starts a new line.</span>"
_NO_ANSWER = "No answer in this text"
_SPANS = (
    "<h2>Where the answer starts and ends</h2><p class='quiet'>Upwards: the probability that the answer starts at a "
    "token (a word or a piece of one); downwards: that it ends there. The first token, [CLS], stands for “no "
    "answer”.</p>"
)


def create_question_answering_tab(service: DemoService, session: gr.BrowserState) -> TaskTab:
    """The tab with its events."""

    def draw(run: Run, output: TaskOutput, _step: int) -> str:
        return draw_answer(str(run.fields["context"]), output)

    tab = TaskTab(service, session, Task.QUESTION_ANSWERING, draw)
    with tab.page():
        with left_column():
            with tab.asking("Look it up", _HINT):
                tab.create_text("question", "Your question", max_lines=3)
                tab.create_text("context", "The text to look in", max_lines=14, elem_classes="long-text")
            with tab.settings(_LEAD):
                tab.create_slider("top_k")
                tab.create_picker()
        with result():
            tab.create_answer("Answer")
            tab.create_reader()
            with gr.Column(elem_classes="more"):
                gr.HTML(_SPANS, label="Where the answer starts and ends")
                plot = gr.Plot(
                    _spans(tab.example.output),
                    label="Start and end probabilities",
                    show_label=False,
                    container=False,
                    elem_classes="span-frame",
                )
    tab.below[plot] = _spans
    tab.connect()
    return tab


def draw_answer(context: str, output: TaskOutput) -> str:
    """The answer in a sentence, the text with the answer marked in it, and the next best answers."""
    output = _typed(output)
    if output.answered:
        best = output.answers[0]
        headline = f"“<bdi>{html.escape(best.text)}</bdi>” has {percent(best.score)} of the probability"
        shown = (
            f"{html.escape(context[: best.start])}<mark>{html.escape(context[best.start : best.end])}</mark>"
            f"{html.escape(context[best.end :])}"
        )
    else:
        headline = f"{_NO_ANSWER}: it has {percent(output.no_answer_score)} of the probability"
        shown = html.escape(context)
    candidates = [Prediction(each.text, each.score) for each in output.answers]
    candidates.append(Prediction(_NO_ANSWER, output.no_answer_score))
    candidates.sort(key=lambda each: -each.score)
    winner = output.answers[0].text if output.answered else _NO_ANSWER
    together = (
        f"<p class='quiet'>All places of the text together have {percent(1 - output.no_answer_score)} of the "
        f"probability, and “no answer” has {percent(output.no_answer_score)}. That decides whether an answer is shown; "
        "the likeliest place is then the answer.</p>"
    )
    windows = (
        f"<p class='quiet'>The text is longer than the model’s window, so it was read in {output.windows} overlapping "
        "parts; the best answer of all of them is shown, and the pictures below show the part that holds it.</p>"
        if output.windows > 1
        else ""
    )
    shown_candidates = bars(candidates, "Answers and their probability", winner=winner, long=True)
    context = f'<p class="context" dir="auto" tabindex="0" role="group" aria-label="The text">{shown}</p>'
    text = f"<h3>{headline}</h3>{context}{together}{windows}"
    return f"{text}<h3>All candidates, best first</h3>{shown_candidates}"


def _spans(output: TaskOutput) -> PlotData:
    """How likely the answer starts and ends at each token."""
    return drawn(span_probabilities(_typed(output)))


def _typed(output: TaskOutput) -> QuestionAnsweringOutput:
    assert isinstance(output, QuestionAnsweringOutput)  # noqa: S101
    return output
